package mysql

import (
	"context"
	"embed"
	"fmt"
	"strings"
	"text/template"

	"bakeoff/engine/oltp"
	"bakeoff/engine/oltp/tpcc"
)

//go:embed sql
var routineFiles embed.FS

// profile is what the statements depend on. HammerDB's keep fewer columns and
// reckon quantities and amounts in their own way.
type profile struct{ Spec bool }

// Quantity is the new s_quantity after so many were taken (clause 2.4.2.2).
func (p profile) Quantity(taken string) string {
	enough := "s_quantity >= " + taken + " + 10"
	if !p.Spec {
		enough = "s_quantity > " + taken
	}
	return fmt.Sprintf("IF(%s, s_quantity - %s, s_quantity - %s + 91)", enough, taken, taken)
}

// Amount is ol_amount with the price from item.
func (p profile) Amount(quantity, wTax, dTax, discount string) string {
	return p.AmountOf(quantity, "i_price", wTax, dTax, discount)
}

// AmountOf is ol_amount. HammerDB keeps it with taxes and discount.
func (p profile) AmountOf(quantity, price, wTax, dTax, discount string) string {
	if p.Spec {
		return quantity + " * " + price
	}
	return fmt.Sprintf("ROUND(%s * %s * (1 + %s + %s) * (1 - %s), 2)", quantity, price, wTax, dTax, discount)
}

func routineName(k tpcc.Kind) string { return "bakeoff_" + k.String() }

// routine is the statement that creates a kind's procedure.
func (c config) routine(k tpcc.Kind) (string, error) {
	file := k.String()
	switch w := c.way(); {
	case w == withVariables:
		file += "_variables"
	case k == tpcc.NewOrder && w == byRow:
		file += "_row"
	case k == tpcc.NewOrder:
		file += "_set"
	}
	t, err := template.ParseFS(routineFiles, "sql/"+file+".sql")
	if err != nil {
		return "", fmt.Errorf("reading the statements of %s: %w", k, err)
	}
	var text strings.Builder
	if err := t.Execute(&text, profile{Spec: c.Rules.Profile == tpcc.Spec}); err != nil {
		return "", fmt.Errorf("making the statements of %s: %w", k, err)
	}
	return text.String(), nil
}

// Install creates the procedures anew; the client's statements need none, and a
// schema that HammerDB built brings its own, which are looked for.
func (d *database) Install(ctx context.Context) error {
	if err := d.supported(ctx); err != nil {
		return err
	}
	switch {
	case d.Schema == oltp.HammerDBSchema:
		return d.hammerDBRoutines(ctx)
	case d.Mode == oltp.ClientSQL:
		return nil
	}
	for k := range tpcc.Kinds {
		text, err := d.routine(k)
		if err != nil {
			return err
		}
		if err := execAll(ctx, d.db, "DROP PROCEDURE IF EXISTS "+routineName(k), text); err != nil {
			return fmt.Errorf("creating procedure %s: %w", routineName(k), err)
		}
	}
	return nil
}

// hammerDBRoutines checks that HammerDB's procedures are there.
func (d *database) hammerDBRoutines(ctx context.Context) error {
	rows, err := rowsOf(ctx, d.server, "SELECT UPPER(routine_name) FROM information_schema.routines WHERE routine_type = 'PROCEDURE' AND routine_schema = "+literal(d.name))
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, r := range rows {
		there[r[0]] = true
	}
	for _, name := range hammerDBNames() {
		if !there[name] {
			return fmt.Errorf("database %s has no procedure %s; expected one that HammerDB built with its stored procedures", d.name, name)
		}
	}
	return nil
}
