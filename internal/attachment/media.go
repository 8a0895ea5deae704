package attachment

import (
	"bytes"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sayso-dev/sayso/internal/ellipsis"
)

// ErrMedia: Claude does not accept this type of content.
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

// MediaTypeOf detects the type of a file by its content, not its name: image/png, image/jpeg,
// image/gif, image/webp, application/pdf or text/plain. Text is UTF-8 without NUL. HTML and
// SVG are plain text, so that no browser runs them.
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

// IsDisplayable reports whether a browser may display a file of this type. Other types can
// contain scripts or links, or open in an unknown program.
func IsDisplayable(mediaType string) bool { return strings.HasPrefix(mediaType, "image/") }

// maxNameChars bounds the stored name.
const maxNameChars = 200

// displayName returns the last element of a file's name, without invisible characters and
// those that change the direction of text. The name is displayed, and never used as a path.
func displayName(given string) string {
	name := strings.Map(func(c rune) rune {
		if unicode.IsControl(c) || unicode.Is(unicode.Cf, c) || c == unicode.ReplacementChar {
			return -1
		}
		return c
	}, strings.ToValidUTF8(given, ""))
	name = ellipsis.Runes(strings.TrimSpace(name[strings.LastIndexAny(name, `/\`)+1:]), maxNameChars)
	if name == "" || name == "." || name == ".." {
		return "file"
	}
	return name
}
