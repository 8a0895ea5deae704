// Draws the icons of the installed app and of its alerts into public/: the mark of
// favicon.svg as PNG, which is what phones take. Run it after a change of the mark:
// node scripts/icons.mjs
import { writeFileSync } from 'node:fs'
import { crc32, deflateSync } from 'node:zlib'

const OUT = new URL('../public/', import.meta.url).pathname
const SAMPLES = 4 // in each direction, for smooth edges

// The mark in the units of favicon.svg, 32 by 32.
const inBox = (x, y) => {
  const dx = Math.max(Math.abs(x - 16) - 7, 0)
  const dy = Math.max(Math.abs(y - 14) - 4, 0)
  return dx * dx + dy * dy <= 36
}
const inTail = (x, y) => x >= 10 && y >= 23 && x - 10 + (y - 23) <= 6
const near = (x, y, ax, ay, bx, by) => {
  const t = Math.min(1, Math.max(0, ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / ((bx - ax) ** 2 + (by - ay) ** 2)))
  return Math.hypot(x - ax - t * (bx - ax), y - ay - t * (by - ay)) <= 1.5
}
const inCheck = (x, y) => near(x, y, 10.5, 14.2, 14.3, 18) || near(x, y, 14.3, 18, 21.7, 10.4)

const BLUE = [0x3a, 0x46, 0x56, 255]
const WHITE = [255, 255, 255, 255]
const NONE = [0, 0, 0, 0]

const mark = (x, y) => (inCheck(x, y) ? WHITE : inBox(x, y) || inTail(x, y) ? BLUE : NONE)
// Any shape may be cut out of it; what counts lies in the middle four fifths.
const whole = (scale) => (x, y) => {
  const [u, v] = [(x - 16) / scale + 16, (y - 16) / scale + 16.5]
  return inCheck(u, v) ? BLUE : inBox(u, v) || inTail(u, v) ? WHITE : BLUE
}
// Android takes its shape alone.
const badge = (x, y) => ((inBox(x, y) || inTail(x, y)) && !inCheck(x, y) ? WHITE : NONE)

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
  ['icon-maskable-512.png', 512, whole(0.68)],
  ['apple-touch-icon.png', 180, whole(0.8)],
  ['badge-96.png', 96, badge],
])
  writeFileSync(OUT + name, png(size, colour))
