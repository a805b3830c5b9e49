//go:build !amd64

// An assembly file lets the package declare functions without bodies.
