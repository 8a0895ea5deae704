package main

import (
	"crypto/tls"
	"fmt"
	"sync/atomic"
)

// certificate is the one of the server. It can be read again while connections
// come in.
type certificate struct {
	cert, key string // files
	now       atomic.Pointer[tls.Certificate]
}

// read reads both files; after an error the certificate stays what it was.
func (c *certificate) read() error {
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return fmt.Errorf("certificate %s and key %s: %w", c.cert, c.key, err)
	}
	c.now.Store(&pair)
	return nil
}

func (c *certificate) config() *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return c.now.Load(), nil },
	}
}
