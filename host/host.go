// Package host is what bakeoff knows of and does to one host: it gathers facts,
// applies settings and puts them back, starts, pins, checks and stops servers
// under test, and keeps a second run off.
//
// Facts come from /proc, /sys, /etc and ioctls only; nothing is shelled out to.
package host

// SettingSpec is one setting to be applied on a host.
type SettingSpec struct {
	// Kind is one of SettingKinds.
	Kind string `json:"kind"`
	// Target is what is set: a dotted sysctl key; a path below /sys or /proc;
	// for a governor "all" or a list of cores as "0-3"; for a command, a name;
	// for what belongs to a network interface, its name.
	Target string `json:"target"`
	Value  string `json:"value"`

	// Apply, Read and Restore are the command triple of kind "command". The
	// value is put in place of every "{value}" in Apply, and the text that
	// Read printed before in place of every "{before}" in Restore.
	Apply   []string `json:"apply,omitempty"`
	Read    []string `json:"read,omitempty"`
	Restore []string `json:"restore,omitempty"`
	// TimeoutSeconds bounds each command, and each read and write of a file.
	// 0 means 30.
	TimeoutSeconds float64 `json:"timeout_seconds,omitempty"`

	// Root is where /proc and /sys are found; "" means "/".
	Root string `json:"-"`
}

// ServiceSpec is a server under test: how to start, pin, check and stop it, or
// where it already runs.
type ServiceSpec struct {
	Name    string            `json:"name"`
	Command []string          `json:"command,omitempty"` // empty where it already runs
	Env     map[string]string `json:"env,omitempty"`     // added to this process's own
	Dir     string            `json:"dir,omitempty"`
	// CPUs lists the cores to pin it to, as "0-3,8"; empty leaves it free.
	CPUs string `json:"cpus,omitempty"`
	// Endpoint is the URL that its clients use, as redis://127.0.0.1:6379,
	// memcache://[::1]:11211 or tcp://127.0.0.1:80; without a host, its path is
	// a Unix socket: unix:///run/x.sock, redis+unix:///run/x.sock.
	Endpoint string `json:"endpoint"`
	// Ready is a command that exits with 0 when the service is up; without
	// it, an answer at Endpoint is enough. ReadySeconds bounds the wait; 0 means 30.
	Ready        []string `json:"ready,omitempty"`
	ReadySeconds float64  `json:"ready_seconds"`
	Version      []string `json:"version,omitempty"` // command that prints its version
	// Process is the name of the process to watch, for one that runs already
	// and whose endpoint does not tell.
	Process string `json:"process,omitempty"`
	// Signal asks it to stop; "" means TERM. After StopSeconds (0 means 10)
	// it is killed.
	Signal      string  `json:"signal,omitempty"`
	StopSeconds float64 `json:"stop_seconds"`
	Log         string  `json:"log,omitempty"` // file that takes its output
	// PIDFile is where the identity of what was started is kept until it is
	// stopped, for EndOrphan after a crash. "" keeps none.
	PIDFile string `json:"pid_file,omitempty"`
}
