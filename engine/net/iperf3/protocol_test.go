package iperf3

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// fromClient is what iperf3 3.12 sends with -P 2 -R -O 1 -t 5 -l 128K.
const fromClient = `{"tcp":true,"omit":1,"time":5,"num":0,"blockcount":0,"parallel":2,"reverse":true,"len":131072,"pacing_timer":1000,"client_version":"3.12"}`

// fromServer is what its server answers at the end of a test: -1 as it writes it.
const fromServer = `{"cpu_util_total":12.5,"cpu_util_user":1.5,"cpu_util_system":11,"sender_has_retransmits":18446744073709551615,"streams":[` +
	`{"id":1,"bytes":1234567890123,"retransmits":18446744073709551615,"jitter":0.001,"errors":3,"omitted_errors":0,"packets":1000,"omitted_packets":10,"start_time":0,"end_time":5.01}]}`

func framed(text string) []byte {
	n := len(text)
	return append([]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}, text...)
}

func TestParametersOfAClient(t *testing.T) {
	p, err := ReadParameters(bytes.NewReader(framed(fromClient)))
	if err != nil {
		t.Fatal(err)
	}
	if !p.TCP || p.UDP || p.Omit != 1 || p.Time != 5 || p.Parallel != 2 || !p.Reverse || p.Length != 131072 || p.Version != "3.12" {
		t.Errorf("%+v", p)
	}
	for _, bad := range []string{`{"parallel":0}`, `{"parallel":1,"time":-1}`, `{"parallel":1,"len":-5}`, `{"parallel":1,"TOS":300}`, `[]`, `{`} {
		if _, err := ReadParameters(bytes.NewReader(framed(bad))); err == nil {
			t.Errorf("taken: %s", bad)
		}
	}
}

func TestResultsOfAServer(t *testing.T) {
	r, err := ReadResults(bytes.NewReader(framed(fromServer)))
	if err != nil {
		t.Fatal(err)
	}
	s := r.Streams[0]
	if r.HasRetransmits != -1 || s.Retransmits != -1 || s.Bytes != 1234567890123 || s.Errors != 3 || s.Packets != 1000 || s.OmittedPackets == nil || *s.OmittedPackets != 10 || s.End != 5.01 || r.CPUTotal != 12.5 {
		t.Errorf("%+v", r)
	}
	for _, bad := range []string{`{"streams":[{"bytes":-1}]}`, `{"streams":[{"end_time":-1}]}`, `{"streams":[{"packets":"many"}]}`, `{"streams":[{"packets":1e300}]}`} {
		if _, err := ReadResults(bytes.NewReader(framed(bad))); err == nil {
			t.Errorf("taken: %s", bad)
		}
	}
}

func TestStates(t *testing.T) {
	for _, c := range []struct {
		in   string
		want string // of the error; "" for none
	}{
		{"\x09", ""}, {"\xff", "another test"}, {"\x0b", "ended the test"}, {"\xfe\x00\x00\x00\x06\x00\x00\x00\x0c", "error 6, errno 12"}, {"\xfe\x00", "without saying why"}, {"", "EOF"},
	} {
		_, err := ReadState(strings.NewReader(c.in))
		if c.want == "" != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.in, err, c.want)
		}
	}
	if err := Expect(strings.NewReader("\x01"), ParamExchange); err == nil {
		t.Error("another state was taken")
	}
	if _, err := ReadState(strings.NewReader("\xff")); !errors.Is(err, ErrBusy) {
		t.Errorf("%v", err)
	}
	var b bytes.Buffer
	if err := errors.Join(WriteError(&b, ReasonStreams, 12), TestEnd.Write(&b)); err != nil || b.String() != "\xfe\x00\x00\x00\x06\x00\x00\x00\x0c\x04" {
		t.Errorf("% x, %v", b.Bytes(), err)
	}
}

func TestStreamsAreNumberedAsIPerf3Does(t *testing.T) {
	for i, want := range []int{1, 3, 4, 5} {
		if got := StreamID(i); got != want {
			t.Errorf("stream %d has id %d, want %d", i, got, want)
		}
	}
}

// FuzzDocuments: whatever a peer sends is refused or within what can be.
func FuzzDocuments(f *testing.F) {
	f.Add(framed(fromClient))
	f.Add(framed(fromServer))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, '{'})
	f.Fuzz(func(t *testing.T, b []byte) {
		if p, err := ReadParameters(bytes.NewReader(b)); err == nil && (p.Parallel < 1 || p.Length < 0 || p.Time < 0 || p.Omit < 0) {
			t.Errorf("taken: %+v", p)
		}
		if r, err := ReadResults(bytes.NewReader(b)); err == nil {
			for _, s := range r.Streams {
				if !(s.End >= s.Start) || !(s.Bytes >= 0) {
					t.Errorf("taken: %+v", s)
				}
			}
		}
		_, _ = ReadState(bytes.NewReader(b))
	})
}
