//go:build !embedshim

package embedded

const program, sum = "", ""
