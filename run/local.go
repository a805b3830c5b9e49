package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"bakeoff/host"
	"bakeoff/internal/osenv"
	"bakeoff/load"
	"bakeoff/record"
)

// Local is the agent of the machine, or the network namespace, that it runs in.
type Local struct {
	env     *osenv.Env
	engines func(name string) (load.Engine, error)
	shared  *load.Machine
	// bakeoff is the process whose descendants all that the run starts on this
	// machine are; 0: this one.
	bakeoff int

	mu       sync.Mutex
	services []*localService
	loads    []*load.Running
	warnings []record.Warning // of placing the loads
}

// localService is a service that was asked for: host is nil where it could not
// be started.
type localService struct {
	spec ServiceSpec
	host *host.Service
}

// NewLocal returns the agent of this machine. Engines finds an engine by name.
func NewLocal(env *osenv.Env, engines func(name string) (load.Engine, error)) *Local {
	return &Local{env: env, engines: engines, shared: load.NewMachine(env.Root)}
}

// NewLocalFor is NewLocal in a process that another bakeoff, of that PID and on
// this machine, started to act for it: its agents and services are no neighbours.
func NewLocalFor(env *osenv.Env, engines func(name string) (load.Engine, error), bakeoff int) *Local {
	l := NewLocal(env, engines)
	l.bakeoff = bakeoff
	return l
}

// EndAll closes the loads and stops every service that was started.
func (l *Local) EndAll(ctx context.Context) error {
	all := l.CloseLoad(ctx)
	l.mu.Lock()
	services := slices.Clone(l.services)
	l.mu.Unlock()
	for _, s := range slices.Backward(services) {
		_, err := l.StopService(ctx, s.spec.Name)
		all = errors.Join(all, err)
	}
	return all
}

// Facts gathers what this machine is now. What is there but cannot be read is
// named in the facts themselves.
func (l *Local) Facts(ctx context.Context) (record.Facts, error) {
	facts, _ := host.Gather(ctx, l.env.Root, l.env.Clock)
	return facts, context.Cause(ctx)
}

func (l *Local) setting(s SettingSpec) (host.Setting, error) {
	s.Root = l.env.Root
	return host.NewSetting(s)
}

// ReadSettings reads each setting; nil stands for one that cannot be read.
func (l *Local) ReadSettings(ctx context.Context, specs []SettingSpec) ([]*string, error) {
	values := make([]*string, len(specs))
	for i, s := range specs {
		setting, err := l.setting(s)
		if err != nil {
			return nil, err
		}
		if v, err := setting.Read(ctx); err == nil {
			values[i] = &v
		} else if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
	return values, nil
}

// ApplySetting sets one value and reads it back.
func (l *Local) ApplySetting(ctx context.Context, s SettingSpec) error {
	setting, err := l.setting(s)
	if err != nil {
		return err
	}
	return setting.Apply(ctx)
}

// RestoreSetting puts back what was before.
func (l *Local) RestoreSetting(ctx context.Context, s SettingSpec, before string) error {
	setting, err := l.setting(s)
	if err != nil {
		return err
	}
	return setting.Restore(ctx, before)
}

// StartService starts a service, or finds one that runs already.
func (l *Local) StartService(ctx context.Context, s ServiceSpec) (record.Service, error) {
	spec, err := l.command(s)
	if err != nil {
		return record.Service{}, err
	}
	if s.OwnDir {
		if err := errors.Join(os.RemoveAll(s.Dir), os.MkdirAll(s.Dir, 0o755)); err != nil {
			return record.Service{}, fmt.Errorf("emptying its directory: %w", err)
		}
	}
	l.mu.Lock()
	live := &localService{spec: s}
	l.services = append(l.services, live)
	l.mu.Unlock()
	service, err := host.StartService(ctx, spec)
	if err != nil {
		return record.Service{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	live.host = service
	return service.Record(), nil
}

// command is the spec as the host package starts it: an embedded server is
// this binary with the server's options as flags.
func (l *Local) command(s ServiceSpec) (host.ServiceSpec, error) {
	spec := s.ServiceSpec
	if s.Embedded == "" {
		return spec, nil
	}
	if len(spec.Command) > 0 {
		return spec, fmt.Errorf("it has both a command and embedded: %s; expected one of them", s.Embedded)
	}
	spec.Command = []string{l.env.Executable, "embedded", s.Embedded, "--listen", s.Endpoint}
	for _, name := range slices.Sorted(maps.Keys(s.Options)) {
		spec.Command = append(spec.Command, "--"+name, s.Options[name])
	}
	return spec, nil
}

func (l *Local) find(name string) *localService {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.services {
		if s.spec.Name == name {
			return s
		}
	}
	return nil
}

// StopService stops a service and returns the end of what it printed.
func (l *Local) StopService(ctx context.Context, name string) (Ended, error) {
	s := l.find(name)
	if s == nil {
		return Ended{}, nil
	}
	if s.host != nil {
		diedBefore := s.host.Err() != nil
		err := s.host.Stop(ctx)
		if err != nil && (!diedBefore || len(s.host.PIDs()) > 0) {
			return Ended{}, err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.services = slices.DeleteFunc(l.services, func(o *localService) bool { return o == s })
	return Ended{Log: takeLog(s.spec.Log)}, nil
}

// maxLog is how much of a service's output is kept.
const maxLog = 1 << 20

// takeLog returns the end of a log and removes it. A log that cannot be read
// is none: that a service printed something must not keep it from being stopped.
func takeLog(name string) []byte {
	f, err := os.Open(name)
	if err != nil {
		return nil
	}
	defer os.Remove(name)
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil
	}
	text, err := io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-maxLog), maxLog))
	if err != nil {
		return nil
	}
	return text
}

// CheckService says whether a service that was started has died.
func (l *Local) CheckService(_ context.Context, name string) error {
	s := l.find(name)
	if s == nil || s.host == nil {
		return fmt.Errorf("it is not running")
	}
	return s.host.Err()
}

// EndOrphans ends what an earlier process of bakeoff did not live to stop.
func (l *Local) EndOrphans(ctx context.Context, orphans []Orphan) ([]string, error) {
	return EndOrphans(ctx, orphans)
}

// EndOrphans ends processes of this machine that an earlier process of bakeoff
// did not live to stop.
func EndOrphans(ctx context.Context, orphans []Orphan) (ended []string, err error) {
	const grace = 5 * time.Second
	for _, o := range orphans {
		pids, endErr := host.EndOrphan(ctx, o.PIDFile, grace)
		err = errors.Join(err, endErr)
		what := "service " + o.Name
		if o.Name == "" {
			what = "the load"
		}
		if len(pids) > 0 {
			ended = append(ended, fmt.Sprintf("%s: ended processes %v that a run had left", what, pids))
		}
	}
	return ended, err
}

// Check says what would keep a job from running here.
func (l *Local) Check(ctx context.Context, job Job) ([]string, error) {
	var problems []string
	note := func(what string, err error) {
		if err != nil {
			problems = append(problems, what+": "+err.Error())
		}
	}
	for _, s := range job.Settings {
		note("settings", l.checkSetting(ctx, s))
	}
	for _, s := range job.Services {
		note("services."+s.Name, l.checkService(ctx, s))
	}
	for _, s := range job.Loads {
		note("workloads."+s.Workload, l.checkLoad(ctx, s))
	}
	_, err := l.samplers(job.Watch)
	note("telemetry", err)
	return problems, context.Cause(ctx)
}

func (l *Local) checkSetting(ctx context.Context, s SettingSpec) error {
	s.Root = l.env.Root
	return host.CheckSetting(ctx, s)
}

func (l *Local) checkService(ctx context.Context, s ServiceSpec) error {
	spec, err := l.command(s)
	if err != nil {
		return err
	}
	if info, err := os.Stat(spec.Dir); len(spec.Command) > 0 && !s.OwnDir && (err != nil || !info.IsDir()) {
		return fmt.Errorf("dir: %s is not a directory", filepath.Clean(spec.Dir))
	}
	return host.CheckService(ctx, spec)
}

// secrets reads the secrets of a load where the plan says they are kept.
func (l *Local) secrets(s LoadSpec) (map[string]string, error) {
	secrets := map[string]string{}
	for _, from := range s.SecretsFrom {
		if from.File == "" {
			text, ok := l.env.LookupEnv(from.Env)
			if !ok {
				return nil, fmt.Errorf("secret %s: the environment has no %s", from.Name, from.Env)
			}
			secrets[from.Name] = text
			continue
		}
		text, err := os.ReadFile(from.File)
		if err != nil {
			return nil, fmt.Errorf("secret %s: %w", from.Name, err)
		}
		line, _, _ := strings.Cut(string(text), "\n")
		secrets[from.Name] = strings.TrimRight(line, "\r")
	}
	return secrets, nil
}
