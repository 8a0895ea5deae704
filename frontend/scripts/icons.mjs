// Draws the icons of the installed app and of its alerts into public/: the mark of
// favicon.svg as PNG, which is what phones take. Run it after a change of the mark:
// node scripts/icons.mjs
import { writeFileSync } from 'node:fs'
import { crc32, deflateSync } from 'node:zlib'

const OUT = new URL('../public/', import.meta.url).pathname
const SAMPLES = 4 // in each direction, for smooth edges

// The mark in the units of favicon.svg, 32 by 32.
// A disc with one corner: a speech bubble as small as a full stop.
const inDrop = (x, y) =>
  Math.hypot(x - 16, y - 16) <= 14 ||
  (x >= 2 && x <= 16 && y >= 16 && y <= 30 && (x >= 4.5 || y <= 27.5 || Math.hypot(x - 4.5, y - 27.5) <= 2.5))
const near = (x, y, ax, ay, bx, by) => {
  const t = Math.min(1, Math.max(0, ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / ((bx - ax) ** 2 + (by - ay) ** 2)))
  return Math.hypot(x - ax - t * (bx - ax), y - ay - t * (by - ay)) <= 1.6
}
const inCheck = (x, y) => near(x, y, 10, 16.5, 14.2, 20.7) || near(x, y, 14.2, 20.7, 22.3, 12)

const INK = [0x25, 0x22, 0x1e, 255]
const WHITE = [255, 255, 255, 255]
const NONE = [0, 0, 0, 0]

const mark = (x, y) => (inCheck(x, y) ? WHITE : inDrop(x, y) ? INK : NONE)
// Any shape may be cut out of it; what counts lies in the middle four fifths.
const whole = (scale) => (x, y) => {
  const [u, v] = [(x - 16) / scale + 16, (y - 16) / scale + 16]
  return inCheck(u, v) ? INK : inDrop(u, v) ? WHITE : INK
}
// Android takes its shape alone.
const badge = (x, y) => (inDrop(x, y) && !inCheck(x, y) ? WHITE : NONE)

function draw(size, colour) {
  const raw = Buffer.alloc(size * (size * 4 + 1))
  for (let py = 0; py < size; py++) {
    for (let px = 0; px < size; px++) {
      const sum = [0, 0, 0, 0]
      for (let i = 0; i < SAMPLES * SAMPLES; i++) {
        const c = colour(
          ((px + ((i % SAMPLES) + 0.5) / SAMPLES) * 32) / size,
          ((py + (Math.floor(i / SAMPLES) + 0.5) / SAMPLES) * 32) / size,
        )
        for (let k = 0; k < 3; k++) sum[k] += c[k] * c[3]
        sum[3] += c[3]
      }
      const at = py * (size * 4 + 1) + 1 + px * 4
      for (let k = 0; k < 3; k++) raw[at + k] = sum[3] === 0 ? 0 : Math.round(sum[k] / sum[3])
      raw[at + 3] = Math.round(sum[3] / (SAMPLES * SAMPLES))
    }
  }
  return raw
}

function png(size, colour) {
  const chunk = (type, data) => {
    const body = Buffer.concat([Buffer.from(type), data])
    const out = Buffer.alloc(body.length + 8)
    out.writeUInt32BE(data.length, 0)
    body.copy(out, 4)
    out.writeUInt32BE(crc32(body), body.length + 4)
    return out
  }
  const head = Buffer.alloc(13)
  head.writeUInt32BE(size, 0)
  head.writeUInt32BE(size, 4)
  head.set([8, 6, 0, 0, 0], 8)
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk('IHDR', head),
    chunk('IDAT', deflateSync(draw(size, colour), { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

for (const [name, size, colour] of [
  ['icon-192.png', 192, mark],
  ['icon-512.png', 512, mark],
  ['icon-maskable-512.png', 512, whole(0.6)],
  ['apple-touch-icon.png', 180, whole(0.7)],
  ['badge-96.png', 96, badge],
])
  writeFileSync(OUT + name, png(size, colour))
