package protocol

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// Capabilities, as the protocol numbers them.
const (
	capLongPassword     = 1 << 0
	capLongFlag         = 1 << 2
	capConnectDatabase  = 1 << 3
	capProtocol41       = 1 << 9
	capTLS              = 1 << 11
	capTransactions     = 1 << 13
	capSecure           = 1 << 15
	capMultiStatements  = 1 << 16
	capMultiResults     = 1 << 17
	capPSMultiResults   = 1 << 18
	capPluginAuth       = 1 << 19
	capPluginLengthData = 1 << 21
	capNoEOF            = 1 << 24 // CLIENT_DEPRECATE_EOF
)

// collation is utf8mb4_general_ci, which every server since 5.5 knows.
const collation = 45

// A Greeting is what a server says first.
type Greeting struct {
	Version      string // as "10.11.6-MariaDB-1"
	ConnectionID uint32
	capabilities uint32
	challenge    []byte // 20 bytes for a login
	plugin       string
}

// ParseGreeting reads the payload of a server's first packet (HandshakeV10). An
// error packet, such as one about too many connections, comes back as *ServerError.
func ParseGreeting(p []byte) (Greeting, error) {
	var g Greeting
	if len(p) == 0 {
		return g, errShort
	}
	if p[0] == 0xff {
		refusal, err := parseError(p)
		if err == nil {
			err = refusal
		}
		return g, err
	}
	if p[0] != 10 {
		return g, fmt.Errorf("the server speaks version %d of the protocol; expected 10 (is it a MariaDB or MySQL server?)", p[0])
	}
	version, rest, ok := bytes.Cut(p[1:], []byte{0})
	if !ok || len(rest) < 15 {
		return g, errShort
	}
	// MariaDB 10 puts 5.5.5- before its version, for old replicas.
	g.Version = strings.TrimPrefix(string(version), "5.5.5-")
	g.ConnectionID = binary.LittleEndian.Uint32(rest)
	g.challenge = append(g.challenge, rest[4:12]...)
	g.capabilities = uint32(binary.LittleEndian.Uint16(rest[13:]))
	if rest = rest[15:]; len(rest) < 16 {
		return g, errors.New("the server is older than version 4.1 of the protocol")
	}
	g.capabilities |= uint32(binary.LittleEndian.Uint16(rest[3:])) << 16
	length := int(rest[5])
	rest = rest[16:]
	if g.capabilities&capSecure != 0 {
		size := max(13, length-8)
		if len(rest) < size {
			return g, errShort
		}
		g.challenge = append(g.challenge, rest[:12]...)
		rest = rest[size:]
	}
	if g.capabilities&capPluginAuth != 0 {
		name, _, _ := bytes.Cut(rest, []byte{0})
		g.plugin = string(name)
	}
	return g, g.usable()
}

// usable checks that the server has what this client needs.
func (g Greeting) usable() error {
	const needed = capProtocol41 | capSecure | capPluginAuth | capMultiResults
	if g.capabilities&needed != needed {
		return fmt.Errorf("server %s lacks capabilities %#x of the protocol; expected MariaDB 10.6 or MySQL 8.0 or newer", g.Version, needed&^g.capabilities)
	}
	return nil
}

// MariaDB says whether the server is one.
func (g Greeting) MariaDB() bool { return strings.Contains(strings.ToLower(g.Version), "mariadb") }

// wanted is what the client asks for of what the server can do.
func (g Greeting) wanted(l Login) uint32 {
	const all = capLongPassword | capLongFlag | capProtocol41 | capTransactions | capSecure |
		capMultiStatements | capMultiResults | capPSMultiResults | capPluginAuth | capPluginLengthData | capNoEOF
	c := uint32(all)
	if l.Database != "" {
		c |= capConnectDatabase
	}
	if l.Upgrade != nil {
		c |= capTLS
	}
	return c & g.capabilities
}

// appendTLSRequest appends the packet that asks for TLS: the beginning of the
// handshake response.
func appendTLSRequest(dst []byte, capabilities uint32, sequence byte) []byte {
	dst, at := begin(dst)
	return finish(appendResponseHead(dst, capabilities), at, sequence)
}

func appendResponseHead(dst []byte, capabilities uint32) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, capabilities)
	dst = binary.LittleEndian.AppendUint32(dst, MaxPayload)
	dst = append(dst, collation)
	return append(dst, make([]byte, 23)...)
}

// appendResponse appends the HandshakeResponse41.
func appendResponse(dst []byte, capabilities uint32, l Login, plugin string, proof []byte, sequence byte) []byte {
	dst, at := begin(dst)
	dst = appendResponseHead(dst, capabilities)
	dst = append(append(dst, l.User...), 0)
	if capabilities&capPluginLengthData != 0 {
		dst = appendInt(dst, uint64(len(proof)))
	} else {
		dst = append(dst, byte(len(proof)))
	}
	dst = append(dst, proof...)
	if capabilities&capConnectDatabase != 0 {
		dst = append(append(dst, l.Database...), 0)
	}
	dst = append(append(dst, plugin...), 0)
	return finish(dst, at, sequence)
}
