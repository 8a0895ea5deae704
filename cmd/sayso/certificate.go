package main

import (
	"crypto/tls"
	"fmt"
	"sync/atomic"
)

// certificate is the server's certificate. It can be reloaded while connections are accepted.
type certificate struct {
	cert, key string // files
	now       atomic.Pointer[tls.Certificate]
}

// read reads both files. After an error the previous certificate stays.
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
