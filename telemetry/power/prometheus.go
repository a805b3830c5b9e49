package power

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"net/http"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"bakeoff/telemetry/power/meter"
)

// prometheusMeter scrapes one metric of an exporter.
type prometheusMeter struct {
	http   *meter.HTTP
	header http.Header
	metric string
	labels map[string]string
	sum    bool
	unit   float64
}

func prometheusOptions() []Option {
	return append([]Option{
		{"url", "of the exporter, as http://host:9100/metrics"},
		{"metric", "the metric's name, a gauge of power"},
		{"labels", "that its series must have, as sensor=total,chassis=1"},
		{"sum", "true: add all series that match; else more than one is an error"},
		{"unit", "of the metric: W (default), mW or kW"},
		{"token_env, token_file", "a bearer token"},
	}, tlsOptions()...)
}

func tlsOptions() []Option {
	return []Option{
		{"ca_file", "certificates, in PEM, of which one must have signed the server's"},
		{"fingerprint", "SHA-256 of the only certificate that is accepted, in hex"},
		{"insecure", "true: accept any certificate"},
	}
}

func openPrometheus(o *meter.Options) (meter.Meter, error) {
	m := &prometheusMeter{
		http: meter.NewHTTP(o), metric: o.Must("metric", "the name of a gauge of power"), labels: make(map[string]string),
		sum: o.Bool("sum"), unit: wattUnit(o),
		header: http.Header{"Accept": {"text/plain; version=0.0.4"}, "User-Agent": {"bakeoff"}},
	}
	if token := o.Secret("token"); !token.Empty() {
		m.header.Set("Authorization", "Bearer "+token.Reveal())
	}
	for _, pair := range o.List("labels") {
		key, value, ok := strings.Cut(pair, "=")
		if !ok {
			o.Refuse("labels", fmt.Sprintf("found %q", pair), "label=value, several between commas")
		}
		m.labels[strings.TrimSpace(key)] = strings.Trim(strings.TrimSpace(value), `"`)
	}
	return m, nil
}

func (m *prometheusMeter) Read(ctx context.Context) (meter.Reading, error) {
	answer, err := m.http.Do(ctx, http.MethodGet, "", m.header, nil)
	if err != nil {
		return meter.Reading{}, err
	}
	switch answer.Status {
	case http.StatusOK:
	case http.StatusUnauthorized, http.StatusForbidden:
		return meter.Reading{}, fmt.Errorf("%s: %w: HTTP status %d", m.http.Base, meter.ErrRefused, answer.Status)
	default:
		return meter.Reading{}, fmt.Errorf("%s: HTTP status %d", m.http.Base, answer.Status)
	}
	return m.find(answer.Body)
}

// find returns the series that the options name from an exposition in text format.
func (m *prometheusMeter) find(body []byte) (meter.Reading, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(body))
	if err != nil {
		return meter.Reading{}, fmt.Errorf("%s: no text exposition of Prometheus: %w", m.http.Base, err)
	}
	family := families[m.metric]
	if family == nil {
		return meter.Reading{}, meter.NoReading("%s has no metric %s", m.http.Base, m.metric)
	}
	var found []*dto.Metric
	for _, series := range family.GetMetric() {
		if m.matches(series) {
			found = append(found, series)
		}
	}
	if len(found) == 0 || len(found) > 1 && !m.sum {
		return meter.Reading{}, meter.NoReading("%s: %d of %d series of %s have the labels %v, expected 1; name more labels, or say sum: true",
			m.http.Base, len(found), len(family.GetMetric()), m.metric, m.labels)
	}
	var total float64
	var at time.Time
	for _, series := range found {
		v, err := seriesValue(family.GetType(), series)
		if err != nil {
			return meter.Reading{}, fmt.Errorf("%s: %s: %w", m.http.Base, m.metric, err)
		}
		total += v * m.unit
		if ms := series.GetTimestampMs(); ms != 0 && len(found) == 1 {
			at = time.UnixMilli(ms)
		}
	}
	if err := meter.Check(m.metric, total); err != nil {
		return meter.Reading{}, err
	}
	return meter.Reading{Power: []meter.Watts{{Value: total, At: at}}}, nil
}

func (m *prometheusMeter) matches(series *dto.Metric) bool {
	matched := 0
	for _, label := range series.GetLabel() {
		if want, ok := m.labels[label.GetName()]; ok {
			if label.GetValue() != want {
				return false
			}
			matched++
		}
	}
	return matched == len(m.labels)
}

func seriesValue(kind dto.MetricType, series *dto.Metric) (float64, error) {
	switch kind {
	case dto.MetricType_GAUGE:
		return series.GetGauge().GetValue(), nil
	case dto.MetricType_UNTYPED:
		return series.GetUntyped().GetValue(), nil
	}
	return math.NaN(), fmt.Errorf("it is a %s, expected a gauge of power", strings.ToLower(kind.String()))
}

func (m *prometheusMeter) Close(context.Context) error {
	m.http.Close()
	return nil
}
