import { devices, type CDPSession, type Page } from '@playwright/test'

import { asks, command as risk, file, lines, question, tool } from '../../frontend/src/testcards.ts'
import type { HeldAnswer, PendingRequestResponse, Request, ServerFrame } from '../../frontend/src/wire/messages.gen.ts'
import { expect, test } from '../fixtures.ts'
import { everything } from '../machine.ts'
import { Stage } from '../stage.ts'

// A finger taps about while requests of several sessions come, go and grow. An
// observer of the test's own notes in each animation frame which buttons are where,
// and judges every decision the server receives: its card was on screen, its button
// was where the finger went down, had been there for a moment, and was not disabled.
// And no tap at the place of a decision decides something else.
//
// SAYSO_TAPPING_SECONDS is how long each of the four screens is tapped on, and
// SAYSO_TEST_SEED which taps and which arrivals.
const SECONDS = Number(process.env.SAYSO_TAPPING_SECONDS ?? (everything ? 18 : 6))
const SEED = Number(process.env.SAYSO_TEST_SEED ?? 1)

/** How long a button must have been still; a little less than what the app asks for. */
const STILL_MS = 500
const SAME_PLACE = 12

function random(seed: number) {
  let a = seed >>> 0
  const next = () => {
    a = (a + 0x6d2b79f5) >>> 0
    let t = Math.imul(a ^ (a >>> 15), 1 | a)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
  return {
    next,
    upTo: (n: number) => Math.floor(next() * n),
    of: <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)]!,
  }
}
type Random = ReturnType<typeof random>

interface Spot {
  request: string
  text: string
  x: number
  y: number
  w: number
  h: number
  disabled: boolean
}
interface Down {
  at: number
  x: number
  y: number
  hit: Spot | null
  history: { at: number; spots: Spot[] }[]
}

/** Runs in the page before anything of it. */
function observe() {
  const history: { at: number; spots: Spot[] }[] = []
  const downs: Down[] = []
  const spotOf = (b: Element): Spot => {
    const { x, y, width: w, height: h } = b.getBoundingClientRect()
    return {
      request:
        b.closest<HTMLElement>('[data-request-id]')?.dataset['requestId'] ?? (b.closest('dialog') ? 'dialog' : ''),
      text: (b.textContent ?? '').trim(),
      x,
      y,
      w,
      h,
      disabled: b.getAttribute('aria-disabled') === 'true' || (b as HTMLButtonElement).disabled,
    }
  }
  // What a pointer at its middle would meet: behind a layer or out of the window it is not on screen.
  const seen = (b: Element) => {
    const { x, y, width, height } = b.getBoundingClientRect()
    const at = document.elementFromPoint(x + width / 2, y + height / 2)
    return at !== null && b.contains(at)
  }
  const look = () => [...document.querySelectorAll('[data-request-id] button, dialog button')].filter(seen).map(spotOf)
  const frame = () => {
    history.push({ at: performance.now(), spots: look() })
    while (history.length > 0 && history[0]!.at < performance.now() - 1_500) history.shift()
    requestAnimationFrame(frame)
  }
  addEventListener(
    'pointerdown',
    (ev) => {
      const b = (ev.target as Element).closest('[data-request-id] button, dialog button')
      downs.push({
        at: performance.now(),
        x: ev.clientX,
        y: ev.clientY,
        hit: b ? spotOf(b) : null,
        history: history.slice(),
      })
    },
    true,
  )
  requestAnimationFrame(frame)
  Object.assign(window, {
    tapping: {
      take: () => downs.splice(0),
      cards: () => look().filter((s) => s.request !== ''),
      others: () =>
        [...document.querySelectorAll('main button, main a, dialog button')]
          .filter((b) => !b.closest('[data-request-id]') && seen(b))
          .map(spotOf),
    },
  })
}

/** Why a decision was none of a person's; '' when it was. */
function judge(id: string, down: Down | undefined, batch: boolean): string {
  if (!down) return 'no finger was down'
  const { hit } = down
  if (!hit) return 'the finger was on no button of a card'
  // What is decided together is decided by a dialog, or by the card of the selected rows.
  const together = hit.request === 'dialog' ? batch : hit.request === 'selected' && /\d/.test(hit.text)
  if (hit.request !== id && !together) return `the finger was on ${hit.request}`
  if (hit.disabled) return 'the button was disabled when the finger went down'
  const before = down.history.filter((f) => f.at <= down.at && f.at >= down.at - STILL_MS)
  for (const f of before) {
    const there = f.spots.some(
      (s) =>
        s.request === hit.request &&
        Math.abs(s.x - hit.x) < 3 &&
        Math.abs(s.y - hit.y) < 3 &&
        Math.abs(s.w - hit.w) < 3,
    )
    if (!there) return `${Math.round(down.at - f.at)} ms before, the button “${hit.text}” was elsewhere`
  }
  if (before.length < 3) return 'nothing was drawn before'
  return ''
}

/** The server of the stage: three sessions in which requests come and go. */
class World {
  readonly held = new Map<string, { answer: HeldAnswer; session: number; over: ReturnType<typeof setTimeout> }>()
  readonly open: Request[][] = [[], [], []]
  readonly decided: PendingRequestResponse[] = []
  private readonly seen = new Set<string>()
  private n = 0
  counts = { came: 0, left: 0, changed: 0 }

  constructor(
    readonly stage: Stage,
    readonly dice: Random,
  ) {
    stage.respond = (c) => (c.type === 'pending_request_response' ? this.answer(c) : null)
  }

  private tell(session: number) {
    const now = this.open[session]!.map((r) => {
      const held = this.held.get(r.request_id)
      return held ? { ...r, held: held.answer } : r
    })
    if (session === 0) this.stage.show(now)
    else this.stage.showIn(SESSIONS[session]!, `session-${session}`, now)
  }

  private answer(c: PendingRequestResponse): ServerFrame[] {
    if (!this.seen.has(c.command_id)) {
      this.seen.add(c.command_id)
      this.decided.push(c)
      const session = this.open.findIndex((list) => list.some((r) => r.request_id === c.request_id))
      if (session < 0 || this.held.has(c.request_id))
        return [{ type: 'ack', command_id: c.command_id, result: 'stale' } as ServerFrame]
      const now = Date.now() / 1000
      const ms = c.undo_ms ?? 0
      if (ms > 0) {
        const answer: HeldAnswer = {
          by: 'ada',
          mine: true,
          decision: c.decision ?? 'allow',
          at: now,
          until: now + ms / 1000,
          command_id: c.command_id,
        }
        this.held.set(c.request_id, { answer, session, over: setTimeout(() => this.leave(session, c.request_id), ms) })
        setTimeout(() => this.tell(session))
        return [
          { type: 'ack', command_id: c.command_id, result: 'applied', held_until: now + ms / 1000 } as ServerFrame,
        ]
      }
      setTimeout(() => this.leave(session, c.request_id))
    }
    return [{ type: 'ack', command_id: c.command_id, result: 'applied' } as ServerFrame]
  }

  leave(session: number, id: string) {
    clearTimeout(this.held.get(id)?.over)
    this.held.delete(id)
    this.open[session] = this.open[session]!.filter((r) => r.request_id !== id)
    this.tell(session)
  }

  undo(id: string) {
    const held = this.held.get(id)
    if (!held) return
    clearTimeout(held.over)
    this.held.delete(id)
    this.tell(held.session)
  }

  arrive(session: number) {
    const id = `q-${++this.n}`
    const kind = this.dice.of(['low', 'low', 'low', 'medium', 'high', 'edit', 'long', 'plan', 'question'] as const)
    const more = { request_id: id, input_hash: `sha256:${id}`, created_at: Date.now() / 1000 }
    const made: Record<typeof kind, () => Request> = {
      low: () => ({ ...tool('Bash', { command: `ls ${id}` }), risk: 'low', ...more }),
      medium: () => ({ ...tool('Bash', { command: `touch ${id}`, description: 'Make it' }), risk: 'medium', ...more }),
      high: () => ({ ...tool('Bash', { command: `cd ${id} && rm -rf .` }), risk: 'high', ...more }),
      edit: () => ({
        ...tool('Edit', { file_path: `/w/${id}`, old_string: 'a', new_string: 'b' }),
        risk: 'medium',
        ...more,
      }),
      long: () => ({ ...tool('Bash', { command: lines(9, id) }), risk: 'medium', ...more }),
      plan: () => ({ ...tool('ExitPlanMode', { plan: `# ${id}\n\nDo it.` }), ...more }),
      question: () => ({ ...asks(id, [question('f', 'select', ['One', 'Two'], { required: false })]), ...more }),
    }
    const text = `cd ${id} && rm -rf .`
    if (kind === 'high')
      this.stage.previews.set(
        id,
        risk('high', [
          { from: text.indexOf('rm'), to: text.length, kind: 'delete_tree', level: 'high', reason: 'Removes.' },
        ]),
      )
    else if (kind === 'edit') this.stage.previews.set(id, file({ line: 3, before: lines(6), after: lines(6, 'say') }))
    else if (kind !== 'plan' && kind !== 'question')
      this.stage.previews.set(id, risk(kind === 'low' ? 'low' : 'medium'))
    this.open[session]!.push(made[kind]())
    this.counts.came++
    this.tell(session)
  }

  /** Something happens. */
  step() {
    const session = this.dice.upTo(3)
    const here = this.open[session]!
    const what = this.dice.next()
    if (here.length === 0 || (what < 0.55 && here.length < 3)) return this.arrive(session)
    const one = this.dice.of(here)
    if (what < 0.75) {
      this.counts.left++
      return this.leave(session, one.request_id)
    }
    this.counts.changed++
    if (what < 0.87) {
      // Somebody writes an answer, or stops.
      return this.stage.send({
        type: 'viewers',
        session_id: session === 0 ? this.stage.id : SESSIONS[session]!,
        viewers: this.dice.next() < 0.5 ? [] : [{ name: 'Grace', typing: true, request_id: one.request_id }],
      } as unknown as ServerFrame)
    }
    // It grows: a deadline comes into its head, or a reason.
    this.open[session] = here.map((r) =>
      r === one ? { ...r, decision_reason: r.decision_reason ? null : 'A hook wants to know.' } : r,
    )
    this.tell(session)
  }

  stop() {
    for (const h of this.held.values()) clearTimeout(h.over)
  }
}

const SESSIONS = ['', '0198c0de-0000-7000-8000-0000000000b1', '0198c0de-0000-7000-8000-0000000000b2']

class Finger {
  constructor(
    readonly page: Page,
    readonly touch: CDPSession | null,
  ) {}
  async press(x: number, y: number, ms: number) {
    const wait = (t: number) => new Promise((r) => setTimeout(r, t))
    if (!this.touch) {
      await this.page.mouse.move(x, y)
      await this.page.mouse.down()
      if (ms > 0) await wait(ms)
      return this.page.mouse.up()
    }
    await this.touch.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: [{ x, y }] })
    if (ms > 0) await wait(ms)
    await this.touch.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] })
  }
}

async function tapAbout(page: Page, url: string, paths: (stage: Stage) => string[], touch: boolean, seed: number) {
  const dice = random(seed)
  const stage = await Stage.in(page)
  const world = new World(stage, random(seed + 1))
  await page.addInitScript(observe)
  // What a finger may hit beside the cards is no matter of this test.
  await page.route(/\/api\/(logout|sessions\/.*|templates.*|push.*)$/, (route) =>
    route.request().method() === 'GET' ? route.fallback() : route.fulfill({ json: {} }),
  )
  await page.route('**/api/pending/*/undo', (route) => {
    world.undo(decodeURIComponent(route.request().url().split('/').at(-2)!))
    return route.fulfill({ json: { result: 'applied' } })
  })
  // What the server says of a request comes a moment later, and the card grows.
  await page.route('**/api/pending/*/preview', async (route) => {
    await new Promise((r) => setTimeout(r, dice.of([0, 200, 700, 1_500])))
    const said = stage.previews.get(decodeURIComponent(route.request().url().split('/').at(-2)!))
    return route.fulfill({ json: said ?? {} }).catch(() => null)
  })
  for (const s of [0, 1, 2]) world.arrive(s)
  const at = paths(stage)
  await page.goto(url + at[0])
  await expect(page.locator('[data-request-id]:visible, [data-inbox-row], .bar.one').first()).toBeVisible()
  const finger = new Finger(page, touch ? await page.context().newCDPSession(page) : null)
  const { width, height } = page.viewportSize()!

  let stop = false
  const life = (async () => {
    while (!stop) {
      world.step()
      await new Promise((r) => setTimeout(r, 250 + world.dice.upTo(1_100)))
    }
  })()

  const faults: string[] = []
  const kinds = new Map<string, number>()
  let taps = 0
  let decisions = 0
  let again = 0
  let last: { x: number; y: number } | null = null
  let here: { x: number; y: number; request: string } | null = null
  const end = Date.now() + SECONDS * 1_000
  // On a busy machine the first decision may take longer.
  while (Date.now() < end || (decisions === 0 && Date.now() < end + 20_000)) {
    const { cards, others } = await page
      .evaluate(() => {
        const { cards, others } = (window as any).tapping
        return { cards: cards() as Spot[], others: others() as Spot[] }
      })
      .catch(() => ({ cards: [], others: [] }))
    const holds = cards.filter((s) => /Hold/.test(s.text))
    const approvals = cards.filter((s) => /^(Approve|Send|Deny|Decline|Keep planning|Approve.*)/.test(s.text))
    const steps = others.filter((s) =>
      /Next request|Done|Review|Inbox|session-|ls |touch |rm |Approve \d|Select|Close/.test(s.text),
    )
    const what = dice.next()
    let spot: { x: number; y: number } | null = null
    let ms = 0
    let wait = 0
    const middle = (s: Spot) => ({ x: s.x + s.w / 2 + dice.upTo(7) - 3, y: s.y + s.h / 2 + dice.upTo(7) - 3 })
    if (what < 0.25 && last) {
      spot = last
      wait = dice.of([30, 60, 150, 400, 1_600])
      again++
    } else if (what < 0.32 && holds.length > 0) {
      spot = middle(dice.of(holds))
      ms = 950
    } else if (what < 0.78 && approvals.length > 0) {
      spot = middle(dice.of(approvals))
      wait = dice.of([0, 0, 0, 120, 350])
      ms = dice.of([0, 0, 0, 250])
    } else if (what < 0.93 && steps.length > 0) spot = middle(dice.of(steps))
    else spot = { x: 4 + dice.upTo(width - 8), y: 60 + dice.upTo(height - 64) }
    spot ??= { x: width / 2, y: height / 2 }
    if (wait > 0) await new Promise((r) => setTimeout(r, wait))
    const before = world.decided.length
    await finger.press(spot.x, spot.y, ms)
    taps++
    // What it sends is on its way before this answers.
    const downs = await page
      .evaluate(() => new Promise((r) => setTimeout(r, 20)).then(() => (window as any).tapping?.take() as Down[]))
      .catch(() => [])
    const down = downs?.at(-1)
    for (const c of world.decided.slice(before)) {
      decisions++
      const kind = `${down?.hit?.text ?? '?'}`.replace(/\d+/g, 'n')
      kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
      const wrong = judge(c.request_id, down, c.batch === true)
      if (wrong) faults.push(`${c.decision} ${c.request_id}: ${wrong}`)
      const from = here as { x: number; y: number; request: string } | null
      if (
        from &&
        from.request !== c.request_id &&
        c.batch !== true &&
        Math.hypot(from.x - spot.x, from.y - spot.y) < SAME_PLACE
      ) {
        faults.push(`${c.decision} ${c.request_id}: by a tap where ${from.request} was decided before`)
      }
    }
    if (world.decided.length > before) here = { ...spot, request: world.decided.at(-1)!.request_id }
    // A tap elsewhere is a step; what comes after it was looked for.
    else if (here && Math.hypot(here.x - spot.x, here.y - spot.y) >= SAME_PLACE) here = null
    last = spot
    const path = new URL(page.url()).pathname
    if (!/^\/(inbox|sessions)/.test(path)) {
      await page.goto(url + dice.of(at))
      here = last = null
    }
  }
  stop = true
  await life
  world.stop()
  return { taps, again, decisions, kinds: Object.fromEntries(kinds), ...world.counts, faults }
}

test.use({ undo: 'usual', goesOn: false })

const phone = (({ viewport, userAgent, deviceScaleFactor, isMobile, hasTouch }) => ({
  viewport,
  userAgent,
  deviceScaleFactor,
  isMobile,
  hasTouch,
}))(devices['Pixel 7'])
const screens: [string, (stage: Stage) => string[], typeof phone | null][] = [
  ['the inbox of a phone', () => ['/inbox'], phone],
  ['a session on a phone', (s) => [`/sessions/${s.id}`, `/sessions/${SESSIONS[1]}`], phone],
  ['the inbox of a desk', () => ['/inbox'], null],
  ['a session on a desk', (s) => [`/sessions/${s.id}`, `/sessions/${SESSIONS[2]}`], null],
]

for (const [i, [name, paths, device]] of screens.entries()) {
  test.describe(name, () => {
    if (device) test.use(device)
    test(`random taps decide nothing by accident in ${name} @newest${i === 1 ? '' : ' @nightly'}`, async ({
      page,
      server,
    }) => {
      test.setTimeout(180_000 + SECONDS * 3_000)
      // The sessions of the stage are none of the server's, and a finger opens whatever it meets.
      test.info().annotations.push({ type: 'allowed on the console', description: 'Failed to load resource' })
      const found = await tapAbout(page, server.url, paths, device !== null, SEED * 100 + i)
      console.log(`${name}, seed ${SEED}: ${JSON.stringify({ ...found, faults: found.faults.length })}`)
      expect(found.faults).toEqual([])
      expect(found.decisions, 'the finger decides now and then, or the test would see nothing').toBeGreaterThan(0)
    })
  })
}
