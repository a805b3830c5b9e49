package meter

import "log/slog"

// A Secret is a password, a community or a token. It shows itself only to
// Reveal: printed, logged or encoded it is "(hidden)".
type Secret struct{ value string }

// NewSecret returns a secret.
func NewSecret(value string) Secret { return Secret{value} }

const hidden = "(hidden)"

// Reveal returns the secret itself, to be given to the peer and to nobody else.
func (s Secret) Reveal() string { return s.value }

// Empty reports whether there is none.
func (s Secret) Empty() bool { return s.value == "" }

func (s Secret) String() string               { return hidden }
func (s Secret) GoString() string             { return hidden }
func (s Secret) LogValue() slog.Value         { return slog.StringValue(hidden) }
func (s Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }
