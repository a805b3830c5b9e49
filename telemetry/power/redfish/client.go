package redfish

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"bakeoff/telemetry/power/meter"
)

// client asks one service, logged in or not.
type client struct {
	http     *meter.HTTP
	user     string
	password meter.Secret
	auth     string // one of the auth* below
	token    meter.Secret
	session  string // path of the session, to be ended
}

// The ways to show credentials.
const (
	authAuto    = "auto" // a session, or basic where the service has none
	authSession = "session"
	authBasic   = "basic"
)

const (
	servicePath  = "/redfish/v1/"
	sessionsPath = "/redfish/v1/SessionService/Sessions"
)

func newClient(o *meter.Options) *client {
	c := &client{
		http: meter.NewHTTP(o), user: o.Text("user", ""), password: o.Secret("password"),
		auth: o.Choice("auth", authAuto, authSession, authBasic),
	}
	switch {
	case c.user == "" && !c.password.Empty():
		o.Refuse("user", "it is missing", "the name that the password belongs to")
	case c.user != "" && c.password.Empty() && !o.Has("password"):
		o.Refuse("password_env", "no password for "+c.user, "password_env or password_file")
	case c.user != "" && c.http.Base != nil && c.http.Base.Scheme == "http" && !o.Bool("insecure"):
		o.Refuse("url", "credentials would go in the clear", "https://, or insecure: true")
	}
	return c
}

// get reads a resource. A session that the service ended is opened once more.
func (c *client) get(ctx context.Context, path string) ([]byte, error) {
	for attempt := 0; ; attempt++ {
		if err := c.login(ctx); err != nil {
			return nil, err
		}
		answer, err := c.http.Do(ctx, http.MethodGet, path, c.header(), nil)
		if err != nil {
			return nil, err
		}
		if answer.Status == http.StatusUnauthorized && !c.token.Empty() && attempt == 0 {
			c.token, c.session = meter.Secret{}, ""
			continue
		}
		if answer.Status != http.StatusOK {
			return nil, &statusError{path, answer.Status}
		}
		return answer.Body, nil
	}
}

// getJSON reads a resource into v.
func (c *client) getJSON(ctx context.Context, path string, v any) error {
	data, err := c.get(ctx, path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%s: no JSON as expected: %w", path, err)
	}
	return nil
}

// statusError is an answer other than 200.
type statusError struct {
	path   string
	status int
}

func (e *statusError) Error() string {
	return fmt.Sprintf("%s: HTTP status %d %s", e.path, e.status, http.StatusText(e.status))
}

// Unwrap makes refusals known as such.
func (e *statusError) Unwrap() error {
	if e.status == http.StatusUnauthorized || e.status == http.StatusForbidden {
		return meter.ErrRefused
	}
	return nil
}

func (c *client) header() http.Header {
	h := http.Header{"Accept": {"application/json"}, "Odata-Version": {"4.0"}, "User-Agent": {"bakeoff"}}
	switch {
	case !c.token.Empty():
		h.Set("X-Auth-Token", c.token.Reveal())
	case c.auth == authBasic && c.user != "":
		r := http.Request{Header: h}
		r.SetBasicAuth(c.user, c.password.Reveal())
	}
	return h
}

// login opens a session where one is wanted and there is none.
func (c *client) login(ctx context.Context) error {
	if c.user == "" || c.auth == authBasic || !c.token.Empty() {
		return nil
	}
	body, err := json.Marshal(map[string]string{"UserName": c.user, "Password": c.password.Reveal()})
	if err != nil {
		return fmt.Errorf("opening a session: %w", err)
	}
	header := c.header()
	header.Set("Content-Type", "application/json")
	answer, err := c.http.Do(ctx, http.MethodPost, sessionsPath, header, body)
	if err != nil {
		return fmt.Errorf("opening a session: %w", err)
	}
	token := answer.Header.Get("X-Auth-Token")
	switch {
	case answer.Status == http.StatusCreated && token != "", answer.Status == http.StatusOK && token != "":
		c.token = meter.NewSecret(token)
		// Some services write an address there by which only they know themselves.
		if location, err := url.Parse(answer.Header.Get("Location")); err == nil {
			c.session = location.Path
		}
		return nil
	case c.auth == authAuto && (answer.Status == http.StatusNotFound || answer.Status == http.StatusMethodNotAllowed || answer.Status == http.StatusNotImplemented):
		c.auth = authBasic
		return nil
	case answer.Status == http.StatusBadRequest:
		// Some services answer so to a wrong password.
		return fmt.Errorf("opening a session as %q: %w: %w", c.user, meter.ErrRefused, &statusError{sessionsPath, answer.Status})
	case answer.Status == http.StatusCreated || answer.Status == http.StatusOK:
		return fmt.Errorf("opening a session as %q: the service gave no X-Auth-Token", c.user)
	}
	return fmt.Errorf("opening a session as %q: %w", c.user, &statusError{sessionsPath, answer.Status})
}

// logout ends the session, of which a controller has few.
func (c *client) logout(ctx context.Context) error {
	defer c.http.Close()
	if c.token.Empty() || c.session == "" {
		return nil
	}
	answer, err := c.http.Do(ctx, http.MethodDelete, c.session, c.header(), nil)
	c.token, c.session = meter.Secret{}, ""
	if err != nil {
		return fmt.Errorf("ending the session: %w", err)
	}
	if answer.Status >= http.StatusBadRequest {
		return fmt.Errorf("ending the session: %w", &statusError{sessionsPath, answer.Status})
	}
	return nil
}
