package lab

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"bakeoff/host"
	"bakeoff/internal/osenv"
)

// A Keeper builds and removes the labs of a machine.
type Keeper struct {
	StateDir string // "" for DefaultStateDir
	Clock    osenv.Clock
	// Step is told of each step before it is taken; nil tells nobody.
	Step func(what string)
}

// A Built is a lab that is up. Its state is locked: no other process acts on it
// until Leave or Remove.
type Built struct {
	Lab     *Lab
	Cleaned []string // what a process that died had left of a lab of this name

	keeper *Keeper
	kept   *stateFile
	state  State
}

// AllowedError says that this process may not build labs.
type AllowedError struct{}

func (AllowedError) Error() string {
	return "building a lab needs root (CAP_SYS_ADMIN and CAP_NET_ADMIN): run it as root; without root, bakeoff lab show FILE checks and prints a lab, and plans without namespaces run"
}

// allowed reports why this process may not build labs.
func allowed() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return fmt.Errorf("asking what this process may do: %w", err)
	}
	for _, c := range []uint{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN} {
		if data[c/32].Effective&(1<<(c%32)) == 0 {
			return AllowedError{}
		}
	}
	return nil
}

func (k *Keeper) dir() string {
	if k.StateDir == "" {
		return DefaultStateDir
	}
	return k.StateDir
}

func (k *Keeper) tell(what string) {
	if k.Step != nil {
		k.Step(what)
	}
}

// UpError says that a lab of the name is up already, on purpose.
type UpError struct{ State State }

func (e *UpError) Error() string {
	return fmt.Sprintf("lab %s is up already, since %s, from %s: run plans on it (bakeoff run PLAN), or take it down first (bakeoff lab down %s)",
		e.State.Lab, e.State.Since.Format("2006-01-02 15:04:05"), e.State.File, e.State.Lab)
}

// Build builds a lab. What a process that died left of one of the same name is
// removed first; on a failure, all that was built is.
func (k *Keeper) Build(l *Lab) (*Built, error) {
	if err := allowed(); err != nil {
		return nil, err
	}
	if err := l.kernelHasAll(hasIPv6()); err != nil {
		return nil, err
	}
	kept, err := openState(k.dir(), l.Name)
	if err != nil {
		return nil, err
	}
	b := &Built{Lab: l, keeper: k, kept: kept}
	was, err := kept.read()
	switch {
	case err != nil:
		return nil, errors.Join(err, kept.close())
	case was != nil && was.Phase == phaseUp && was.present():
		return nil, errors.Join(&UpError{*was}, kept.close())
	case was != nil:
		if b.Cleaned, err = k.clean(*was); err != nil {
			return nil, errors.Join(err, kept.close())
		}
	}
	if err := b.build(was != nil && was.MadeDir); err != nil {
		return nil, errors.Join(fmt.Errorf("building lab %s: %w", l.Name, err), b.Remove())
	}
	return b, nil
}

// kernelHasAll says what the lab needs that this kernel lacks altogether.
func (l *Lab) kernelHasAll(ipv6 bool) error {
	if ipv6 {
		return nil
	}
	for _, link := range l.Links {
		for _, e := range link.Ends {
			for _, a := range e.Addresses {
				if a.Addr().Is6() {
					return &Error{File: l.file, Line: e.line, Key: e.Node + ".addresses", Found: a.String() + " on a kernel without IPv6",
						Expected: "IPv4 addresses", Mend: "start the kernel without ipv6.disable=1, or leave the IPv6 addresses out"}
				}
			}
		}
	}
	return nil
}

func (b *Built) build(madeDir bool) error {
	boot, err := bootID()
	if err != nil {
		return err
	}
	file, err := filepath.Abs(b.Lab.file)
	if err != nil {
		return fmt.Errorf("finding the lab's file: %w", err)
	}
	_, err = os.Stat(host.NamespaceDir)
	b.state = State{
		Lab: b.Lab.Name, Phase: phaseBusy, File: file, Hash: b.Lab.hash, Token: rand.Text(), Boot: boot,
		PID: os.Getpid(), Since: b.keeper.Clock.Now(), MadeDir: madeDir || errors.Is(err, fs.ErrNotExist),
	}
	for _, n := range b.Lab.Nodes {
		b.state.Namespaces = append(b.state.Namespaces, b.Lab.Namespace(n.Name))
	}
	b.keeper.tell("state")
	if err := b.kept.write(b.state); err != nil {
		return err
	}
	if err := os.MkdirAll(host.NamespaceDir, 0o755); err != nil {
		return fmt.Errorf("making the folder of named network namespaces: %w", err)
	}
	for _, s := range b.Lab.steps(mark(b.state.Lab, b.state.Token)) {
		b.keeper.tell(s.what)
		if err := s.do(); err != nil {
			return err
		}
	}
	b.keeper.tell("built")
	return nil
}

func bootID() (string, error) {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("reading this boot's name: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// Leave leaves the lab up, for Down to remove.
func (b *Built) Leave() error {
	b.state.Phase, b.state.PID = phaseUp, 0
	return errors.Join(b.kept.write(b.state), b.kept.close())
}

// Remove removes the lab, and every trace of it.
func (b *Built) Remove() error {
	if b.state.Lab == "" { // nothing was built
		return b.kept.remove()
	}
	if _, err := b.keeper.clean(b.state); err != nil {
		return errors.Join(err, b.kept.close())
	}
	return b.kept.remove()
}

// clean removes what is there of a lab, and says what that was.
func (k *Keeper) clean(s State) ([]string, error) {
	if boot, err := bootID(); err != nil || boot != s.Boot {
		return nil, err // a reboot removed all of it
	}
	var cleaned []string
	var all error
	for _, name := range s.Namespaces {
		k.tell("removing " + name)
		removed, err := removeNamespace(name, mark(s.Lab, s.Token))
		all = errors.Join(all, err)
		if removed {
			cleaned = append(cleaned, name)
		}
	}
	if all == nil && s.MadeDir {
		_ = os.Remove(host.NamespaceDir) // others may be there
	}
	return cleaned, all
}

// present reports whether any of a lab is there.
func (s State) present() bool {
	for _, name := range s.Namespaces {
		if state, err := lookUp(name, mark(s.Lab, s.Token)); err == nil && (state == nameOurs || state == nameEmpty) {
			return true
		}
	}
	return false
}

// InUseError says that processes are inside a lab that is to be removed.
type InUseError struct {
	Lab       string
	Processes map[string][]int // by namespace
}

func (e *InUseError) Error() string {
	var parts []string
	for name, pids := range e.Processes {
		parts = append(parts, fmt.Sprintf("%s has processes %v", name, pids))
	}
	return fmt.Sprintf("lab %s is in use: %s; end them first, or say --force to take the names away from under them", e.Lab, strings.Join(parts, ", "))
}

// Down removes a lab that is up, or what a process that died left of one. With
// processes inside it is left alone, unless force says otherwise: they are never
// ended. It returns the namespaces that were removed.
func (k *Keeper) Down(name string, force bool) ([]string, error) {
	if err := allowed(); err != nil {
		return nil, err
	}
	if _, err := os.Stat(statePath(k.dir(), name)); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	kept, err := openState(k.dir(), name)
	if err != nil {
		return nil, err
	}
	state, err := kept.read()
	if err != nil {
		return nil, errors.Join(err, kept.close())
	}
	if state == nil {
		return nil, kept.remove()
	}
	if users, err := state.users(); err != nil || len(users) > 0 && !force {
		if err == nil {
			err = &InUseError{name, users}
		}
		return nil, errors.Join(err, kept.close())
	}
	cleaned, err := k.clean(*state)
	if err != nil {
		return cleaned, errors.Join(err, kept.close())
	}
	return cleaned, kept.remove()
}

// users are the processes inside a lab's own namespaces.
func (s State) users() (map[string][]int, error) {
	users := map[string][]int{}
	for _, name := range s.Namespaces {
		if state, err := lookUp(name, mark(s.Lab, s.Token)); err != nil || state != nameOurs {
			continue
		}
		pids, err := inside(name)
		if err != nil {
			return nil, err
		}
		if len(pids) > 0 {
			users[name] = pids
		}
	}
	return users, nil
}
