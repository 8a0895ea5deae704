package attachment

import (
	"bytes"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ErrMedia: the content is of no type that Claude takes.
var ErrMedia = errors.New("neither an image, nor a PDF, nor text")

var signatures = []struct {
	at     int
	bytes  string
	mediaT string
}{
	{0, "\x89PNG\r\n\x1a\n", "image/png"},
	{0, "\xff\xd8\xff", "image/jpeg"},
	{0, "GIF87a", "image/gif"},
	{0, "GIF89a", "image/gif"},
	{8, "WEBP", "image/webp"},
	{0, "%PDF-", "application/pdf"},
}

// MediaTypeOf tells what bytes are by what they hold, whatever they are called:
// image/png, image/jpeg, image/gif, image/webp, application/pdf or text/plain.
// Text is UTF-8 without NUL; so a page or an SVG is text too, and never more.
func MediaTypeOf(data []byte) (string, error) {
	for _, s := range signatures {
		if len(data) < s.at+len(s.bytes) || string(data[s.at:s.at+len(s.bytes)]) != s.bytes {
			continue
		}
		if s.mediaT == "image/webp" && !bytes.HasPrefix(data, []byte("RIFF")) {
			continue
		}
		return s.mediaT, nil
	}
	if len(data) > 0 && utf8.Valid(data) && bytes.IndexByte(data, 0) < 0 {
		return "text/plain", nil
	}
	return "", ErrMedia
}

// Shown reports whether a browser may show the type by itself. What is no raster
// image can hold scripts or links, or is read by a program that we do not know.
func Shown(mediaType string) bool { return strings.HasPrefix(mediaType, "image/") }

// nameLength is how many characters of a name are kept.
const nameLength = 200

// nameOf is the last part of what somebody calls a file, without characters that
// are not seen or that turn the others around. It is shown, and never a path.
func nameOf(given string) string {
	name := strings.Map(func(c rune) rune {
		if unicode.IsControl(c) || unicode.Is(unicode.Cf, c) || c == unicode.ReplacementChar {
			return -1
		}
		return c
	}, strings.ToValidUTF8(given, ""))
	name = strings.TrimSpace(name[strings.LastIndexAny(name, `/\`)+1:])
	if runes := []rune(name); len(runes) > nameLength {
		name = string(runes[:nameLength-1]) + "…"
	}
	if name == "" || name == "." || name == ".." {
		return "file"
	}
	return name
}
