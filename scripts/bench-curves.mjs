// Draws the curves of a report of cmd/bench, one SVG each: node bench-curves.mjs REPORT FOLDER.
// Both axes are logarithmic where the values span more than a factor of ten. The colors
// are legible on a light and on a dark page.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const [file, folder] = process.argv.slice(2)
const { curves, commit } = JSON.parse(readFileSync(file, 'utf8'))
mkdirSync(folder, { recursive: true })

const width = 640
const height = 320
const frame = { left: 64, right: 48, top: 48, bottom: 48 }
const escape = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`)
const short = (n) => (n >= 10_000 ? `${+(n / 1000).toPrecision(3)}k` : `${+n.toPrecision(3)}`)

/** Places values between two ends, and names the values to mark. */
function axis(values, from, to) {
  const positive = values.filter((v) => v > 0)
  const low = Math.min(...positive)
  const high = Math.max(...positive)
  const log = high / low > 10
  const ticks = []
  let first = 0
  let last = high * 1.1
  if (log) {
    first = 10 ** Math.floor(Math.log10(low))
    last = 10 ** Math.ceil(Math.log10(high))
    for (let t = first; t <= last * 1.001; t *= 10) ticks.push(t)
  } else {
    const step = 10 ** Math.floor(Math.log10(last))
    const width = [step / 5, step / 2, step, step * 2].find((s) => last / s <= 6)
    for (let t = 0; t <= last; t += width) ticks.push(t)
  }
  const part = (v) => (log ? Math.log(Math.max(v, first) / first) / Math.log(last / first) : v / last)
  return { ticks, at: (v) => +(from + part(v) * (to - from)).toFixed(1) }
}

function draw(curve) {
  const x = axis(curve.points.map((p) => p.x), frame.left, width - frame.right)
  const y = axis(curve.points.flatMap((p) => [p.p50, p.p99]), height - frame.bottom, frame.top)
  const line = (of, dash) => {
    const end = curve.points.at(-1)
    return `<polyline points="${curve.points.map((p) => `${x.at(p.x)},${y.at(p[of])}`).join(' ')}" class="line"${dash}/>
${curve.points.map((p) => `<circle cx="${x.at(p.x)}" cy="${y.at(p[of])}" r="3"><title>${short(p.x)} ${escape(curve.x)}: ${of} ${short(p[of])} ${escape(curve.unit)}</title></circle>`).join('\n')}
<text x="${x.at(end.x) + 8}" y="${y.at(end[of]) + (of === 'p50' ? 10 : -4)}">${of}</text>`
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${escape(curve.what)}">
<style>
text { font: 12px system-ui, sans-serif; fill: #1f2328 } .title { font-size: 14px; font-weight: 600 }
.grid { stroke: #8b949e; stroke-opacity: .35 } .line { fill: none; stroke: #2f6fde; stroke-width: 2 } circle { fill: #2f6fde }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .line { stroke: #6ea8fe } circle { fill: #6ea8fe } }
</style>
<text x="16" y="22" class="title">${escape(curve.what)}, ${escape(curve.unit)}</text>
${y.ticks.map((t) => `<path d="M${frame.left} ${y.at(t)}H${width - frame.right}" class="grid"/><text x="${frame.left - 8}" y="${y.at(t) + 4}" text-anchor="end">${short(t)}</text>`).join('\n')}
${x.ticks.map((t) => `<path d="M${x.at(t)} ${frame.top}V${height - frame.bottom}" class="grid"/><text x="${x.at(t)}" y="${height - frame.bottom + 18}" text-anchor="middle">${short(t)}</text>`).join('\n')}
<text x="${(width + frame.left - frame.right) / 2}" y="${height - 10}" text-anchor="middle">${escape(curve.x)}</text>
${line('p50', '')}
${line('p99', ' stroke-dasharray="6 4"')}
<!-- commit ${escape(commit)} -->
</svg>
`
}

for (const curve of curves) writeFileSync(join(folder, `${curve.name}.svg`), draw(curve))
