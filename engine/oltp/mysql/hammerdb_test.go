package mysql

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bakeoff/engine/oltp"
	"bakeoff/engine/oltp/tpcc"
)

func trusting(t *testing.T, file string) *tls.Config {
	t.Helper()
	pem, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	return &tls.Config{RootCAs: pool, ServerName: "127.0.0.1", MinVersion: tls.VersionTLS12}
}

// likeHammerDB are procedures with the names and parameters of HammerDB's, which
// write down how they were called.
const likeHammerDB = `
CREATE TABLE calls (what VARCHAR(400) NOT NULL);
DELIMITER //
CREATE PROCEDURE NEWORD(w INT, max_w INT, d INT, c INT, n INT, OUT a DECIMAL(4,4), OUT b VARCHAR(16), OUT e VARCHAR(2), OUT f DECIMAL(4,4), OUT g DECIMAL(4,4),
  INOUT o INT, t DATETIME)
BEGIN
  START TRANSACTION;
  UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = w AND d_id = d;
  INSERT INTO calls VALUES (CONCAT_WS(' ', 'NEWORD', w, max_w, d, c, n, o));
  SET o = 1, a = 0.1, b = 'name';
  COMMIT;
END//
CREATE PROCEDURE PAYMENT(w INT, d INT, cw INT, cd INT, INOUT c INT, byname INT, amount DECIMAL(6,2), INOUT l VARCHAR(16),
  OUT o1 VARCHAR(20), OUT o2 VARCHAR(20), OUT o3 VARCHAR(20), OUT o4 CHAR(2), OUT o5 CHAR(9), OUT o6 VARCHAR(20), OUT o7 VARCHAR(20), OUT o8 VARCHAR(20),
  OUT o9 CHAR(2), OUT o10 CHAR(9), OUT o11 VARCHAR(16), OUT o12 CHAR(2), OUT o13 VARCHAR(20), OUT o14 VARCHAR(20), OUT o15 VARCHAR(20), OUT o16 CHAR(2),
  OUT o17 CHAR(9), OUT o18 CHAR(16), OUT o19 DATETIME, INOUT o20 CHAR(2), OUT o21 DECIMAL(12,2), OUT o22 DECIMAL(4,4), INOUT o23 DECIMAL(12,2),
  OUT o24 VARCHAR(500), t DATETIME)
BEGIN
  START TRANSACTION;
  INSERT INTO calls VALUES (CONCAT_WS(' ', 'PAYMENT', w, d, cw, cd, c, byname, amount, l));
  COMMIT;
END//
CREATE PROCEDURE DELIVERY(w INT, carrier INT, t DATETIME)
BEGIN
  START TRANSACTION;
  INSERT INTO calls VALUES (CONCAT_WS(' ', 'DELIVERY', w, carrier));
  COMMIT;
END//
CREATE PROCEDURE OSTAT(w INT, d INT, INOUT c INT, byname INT, INOUT l VARCHAR(16), OUT a VARCHAR(16), OUT b CHAR(2), OUT e DECIMAL(12,2), OUT f INT, OUT g DATETIME, OUT h INT)
BEGIN
  START TRANSACTION;
  INSERT INTO calls VALUES (CONCAT_WS(' ', 'OSTAT', w, d, c, byname, l));
  COMMIT;
END//
CREATE PROCEDURE SLEV(w INT, d INT, threshold INT, OUT stock_count INT)
BEGIN
  START TRANSACTION;
  INSERT INTO calls VALUES (CONCAT_WS(' ', 'SLEV', w, d, threshold));
  COMMIT;
END//
`

// hammerDB calls procedures as HammerDB's and checks what they were given.
func (f fixture) hammerDB(t *testing.T) {
	c := f.c
	c.Schema, c.Rules.Profile = oltp.HammerDBSchema, tpcc.HammerDB
	d := open(t, c)
	if err := d.Install(t.Context()); err == nil || !strings.Contains(err.Error(), "NEWORD") {
		t.Errorf("error %v, want one about the procedures that are missing", err)
	}
	f.s.SQL("USE tpcc; " + likeHammerDB)
	if err := d.Install(t.Context()); err != nil {
		t.Fatal(err)
	}
	u := connect(t, d, 0)
	order := tpcc.Tx{Kind: tpcc.NewOrder, Warehouse: 1, District: 2, Customer: 3, LineCount: 5}
	pay := *payment()
	named := pay
	named.Customer, named.LastName = 0, 371
	status := tpcc.Tx{Kind: tpcc.OrderStatus, Warehouse: 1, District: 4, LastName: 0}
	for _, tx := range []tpcc.Tx{order, pay, named, status, {Kind: tpcc.Delivery, Warehouse: 1, Carrier: 9}, {Kind: tpcc.StockLevel, Warehouse: 1, District: 6, Threshold: 15}} {
		if outcome, err := u.run(t.Context(), &tx); outcome != tpcc.Committed {
			t.Errorf("%s: outcome %d, %v", tx.Kind, outcome, err)
		}
	}
	want := strings.Join([]string{
		"NEWORD 1 1 2 3 5 0", "PAYMENT 1 1 1 1 5 0 12.34 ", "PAYMENT 1 1 1 1 0 1 12.34 PRICALLYOUGHT", "OSTAT 1 4 0 1 BARBARBAR",
		"DELIVERY 1 9", "SLEV 1 6 15", "",
	}, "\n")
	if got := f.s.SQL("SELECT what FROM tpcc.calls"); got != want {
		t.Errorf("called were\n%swant\n%s", got, want)
	}
	f.s.SQL("DROP TABLE tpcc.bakeoff_load")
	before := sums(t, d)
	if err := d.Save(t.Context(), "HammerDB's"); err != nil {
		t.Fatal(err)
	}
	f.s.SQL("DELETE FROM tpcc.history")
	if err := d.Restore(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(before, sums(t, d)); d != "" {
		t.Error(d)
	}
	f.s.SQL("DROP PROCEDURE tpcc.SLEV")
	if outcome, err := u.run(t.Context(), &tpcc.Tx{Kind: tpcc.StockLevel}); outcome != tpcc.Refused {
		t.Errorf("without its procedure: outcome %d, %v", outcome, err)
	}
	f.s.SQL("DROP PROCEDURE tpcc.PAYMENT")
	if err := d.Install(t.Context()); err == nil || !strings.Contains(err.Error(), "PAYMENT") {
		t.Errorf("error %v, want one about PAYMENT", err)
	}
}
