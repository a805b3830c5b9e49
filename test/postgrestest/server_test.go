package postgrestest

import (
	"context"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
)

func ask(t *testing.T, url string) (string, error) {
	t.Helper()
	c, err := pgx.Connect(context.Background(), url)
	if err != nil {
		return "", err
	}
	defer c.Close(context.Background())
	var user string
	err = c.QueryRow(context.Background(), "select current_user").Scan(&user)
	return user, err
}

func TestServerAnswersKillAndRestart(t *testing.T) {
	s := Start(t, Options{TLS: true})
	for _, url := range []string{s.URL, s.SocketDatabase("postgres"), s.URL + "?sslmode=verify-full&sslrootcert=" + s.CA} {
		if user, err := ask(t, url); err != nil || user != User {
			t.Errorf("%s: found user %q, %v", url, user, err)
		}
	}
	s.Kill()
	if _, err := ask(t, s.URL); err == nil {
		t.Error("a killed server answers")
	}
	s.Run()
	if _, err := ask(t, s.URL); err != nil {
		t.Errorf("after a restart: %v", err)
	}
	s.Stop()
}

func TestPasswords(t *testing.T) {
	for _, method := range []string{"scram-sha-256", "md5", "password"} {
		s := Start(t, Options{Auth: method})
		if _, err := ask(t, s.URL); err == nil {
			t.Errorf("%s: logged in without a password", method)
		}
		t.Setenv("PGPASSWORD", Password)
		if _, err := ask(t, s.URL); err != nil {
			t.Errorf("%s: %v", method, err)
		}
		if err := os.Unsetenv("PGPASSWORD"); err != nil {
			t.Fatal(err)
		}
	}
}
