// What passes through the real server: from the line that a CLI writes to what a
// person sees, and back. The CLI is a stub that says when it wrote.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'

import { expect, test } from '../fixtures.ts'
import { program } from '../machine.ts'
import { startServer } from '../server.ts'
import { token } from '../token.ts'
import { percentile, say, until } from './figures.ts'

interface Seen {
  written: number // by the CLI, ms since 1970
  shown: number // painted
  pressed: number
  gone: number
}

declare global {
  interface Window {
    seen: Map<string, Seen>
  }
}

/** Notes when each card is painted and when it is gone. */
function watchCards() {
  const seen = new Map<string, Seen>()
  const now = () => performance.timeOrigin + performance.now()
  const there = new Set<string>()
  window.seen = seen
  new MutationObserver(() => {
    const cards = new Set(
      [...document.querySelectorAll('[data-request-id]')].map((c) => c.getAttribute('data-request-id')!),
    )
    for (const id of cards) {
      if (there.has(id)) continue
      there.add(id)
      const one: Seen = { written: 0, shown: 0, pressed: 0, gone: 0 }
      seen.set(id, one)
      requestAnimationFrame(() => setTimeout(() => (one.shown = now())))
    }
    for (const id of there) {
      if (cards.has(id)) continue
      there.delete(id)
      seen.get(id)!.gone = now()
    }
  }).observe(document, { subtree: true, childList: true, attributes: true, attributeFilter: ['data-request-id'] })
}

const p95 = (of: number[]) => percentile(of, 0.95).toFixed(0)

test('approval latency, from the CLI to the person and back', async ({ context, signIn, playwright }) => {
  // A card that goes asks what became of it, in the moment in which it is decided.
  test.info().annotations.push({ type: 'allowed on the console', description: '/api/pending/' })
  const own = await startServer({ claudePath: program('bench'), modelURL: 'http://127.0.0.1:9' })
  try {
    await signIn(context, own)
    const http = await playwright.request.newContext({ extraHTTPHeaders: { Authorization: `Bearer ${token}` } })
    const gap = 100 // ms between an answer and the next request
    const rounds = 30
    const folder = join(own.workspace, 'bench')
    mkdirSync(folder)
    const made = await http.post(`${own.url}/api/sessions`, {
      data: { cwd: folder, prompt: `ask ${rounds} ${gap}ms ${join(own.folder, 'trips')}` },
    })
    const { session_id: id } = (await made.json()) as { session_id: string }
    await context.addInitScript(watchCards)
    const [first, second] = [await context.newPage(), await context.newPage()]
    for (const page of [first, second]) await page.goto(`${own.url}/sessions/${id}`)
    await first.bringToFront()
    const took: Seen[] = []
    const elsewhere: number[] = []
    let last = ''
    for (let i = 0; i < rounds; i++) {
      const card = first.locator(`[data-request-id]:not([data-request-id="${last}"])`)
      // A card that has just come decides nothing yet; a press that comes too early is none.
      const press = card
        .getByRole('button', { name: 'Approve', exact: true })
        .and(first.locator(':not([aria-disabled])'))
      await expect(press).toBeVisible()
      const request = (await card.getAttribute('data-request-id'))!
      last = request
      await expect(second.locator(`[data-request-id="${request}"]`)).toBeVisible()
      const open = (await (await http.get(`${own.url}/api/pending`)).json()) as {
        pending_requests: { request_id: string; tool_input: { written_at: number } }[]
      }
      const written = open.pending_requests.find((r) => r.request_id === request)!.tool_input.written_at / 1e6
      const pressed = await press.evaluate((button: HTMLElement) => {
        const at = performance.timeOrigin + performance.now()
        button.click()
        return at
      })
      for (const page of [first, second]) await expect(page.locator(`[data-request-id="${request}"]`)).toHaveCount(0)
      const read = (page: typeof first) => page.evaluate((id) => window.seen.get(id)!, request)
      took.push({ ...(await read(first)), written, pressed })
      elsewhere.push((await read(second)).gone - pressed)
    }
    // The page was not there when the first was asked.
    const shown = took.slice(1).map((t) => t.shown - t.written)
    // The next request is written a gap after the answer was read.
    const heard = took.slice(1).map((t, i) => t.written - gap - took[i]!.pressed)
    say(
      'can_use_tool → visible, through the server: p50, p95',
      `${percentile(shown, 0.5).toFixed(0)}, ${p95(shown)} ms`,
      'p95 at most 150 ms',
    )
    say(
      'press → Claude goes on: p50, p95',
      `${percentile(heard, 0.5).toFixed(0)}, ${p95(heard)} ms`,
      'p95 at most 100 ms',
    )
    say(
      'press → the card is gone in the second tab: p50, p95',
      `${percentile(elsewhere, 0.5).toFixed(0)}, ${p95(elsewhere)} ms`,
      'p95 at most 200 ms',
    )
    await Promise.all([first.close(), second.close()]) // before their server goes
    await http.dispose()
  } finally {
    await own.stop()
  }
})

test('loading a long transcript from the server', async ({ context, page, signIn, playwright }) => {
  const own = await startServer({ claudePath: program('claudetest'), modelURL: 'http://127.0.0.1:9' })
  try {
    await signIn(context, own)
    const http = await playwright.request.newContext({ extraHTTPHeaders: { Authorization: `Bearer ${token}` } })
    const blocks = 10_000
    const inOneTurn = 2_000
    const turn = (from: number) =>
      `Go on.\n\n\`\`\`claudetest\n${JSON.stringify(Array.from({ length: inOneTurn }, (_, i) => ({ text: `Block **${from + i}** with \`code\` and words.` })))}\n\`\`\``
    const folder = join(own.workspace, 'bench')
    mkdirSync(folder)
    const { session_id: id } = (await (
      await http.post(`${own.url}/api/sessions`, { data: { cwd: folder, prompt: turn(0) } })
    ).json()) as { session_id: string }
    const total = async () =>
      ((await (await http.get(`${own.url}/api/sessions/${id}/transcript?limit=1`)).json()) as { total: number }).total
    for (let from = inOneTurn; from <= blocks; from += inOneTurn) {
      await expect.poll(total, { timeout: 120_000 }).toBeGreaterThanOrEqual(from)
      if (from < blocks)
        expect(
          (await http.post(`${own.url}/api/sessions/${id}/messages`, { data: { text: turn(from) } })).status(),
        ).toBe(202)
    }
    const readable = await until(page, `Block ${blocks - 1} with`)
    const took: number[] = []
    for (let i = 0; i < 6; i++) {
      await page.goto(`${own.url}/sessions/${id}`)
      took.push(await readable())
    }
    await page.close() // before its server goes
    say(
      '10,000 blocks from the server, page loaded until the last can be read: first, then p50',
      `${took[0]!.toFixed(0)}, ${percentile(took.slice(1), 0.5).toFixed(0)} ms`,
      'at most 500 ms',
    )
    await http.dispose()
  } finally {
    await own.stop()
  }
})
