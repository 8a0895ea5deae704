import { mount } from '@vue/test-utils'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { nextTick } from 'vue'
import { obstacle, type Facts } from './decide'
import DecideButton from './DecideButton.vue'
import { guardKey } from './guard'
import { HOLD_MS } from './hold'

// A page whose layout the test decides.
const READY: Facts = {
  armed: true,
  stale: false,
  phase: 'open',
  mayAnswer: true,
  mayApprove: true,
  othersWrite: false,
  seen: true,
  known: true,
  valid: true,
  level: 'medium',
  defaultToNo: false,
  confirmed: false,
}
let top = 0
let covered = false
let request = 'r'
let facts = READY

beforeEach(() => {
  top = 500
  covered = false
  request = 'r'
  facts = READY
  vi.useFakeTimers({
    toFake: ['setTimeout', 'clearTimeout', 'performance', 'requestAnimationFrame', 'cancelAnimationFrame', 'Date'],
  })
  document.elementFromPoint = () => (covered ? document.body : document.querySelector('button'))
  vi.spyOn(Element.prototype, 'getBoundingClientRect').mockImplementation(() => new DOMRect(10, top, 100, 48))
  globalThis.DOMRect ??= class {
    constructor(
      public x: number,
      public y: number,
      public width: number,
      public height: number,
    ) {}
  } as never
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
  delete (document as { elementFromPoint?: unknown }).elementFromPoint
  document.body.innerHTML = ''
})

function shown(props: object = {}) {
  return mount(DecideButton, {
    attachTo: document.body,
    props: { act: 'approve', control: 'approve', ...props },
    slots: { default: 'Approve' },
    global: {
      provide: {
        [guardKey as symbol]: {
          request: () => request,
          obstacle: (act: 'approve', more: Partial<Facts>, how: never) => obstacle(act, { ...facts, ...more }, how),
        },
      },
    },
  })
}
type Shown = ReturnType<typeof shown>

const el = (b: Shown) => b.element as HTMLElement
const down = (b: Shown, pointerType = 'touch') =>
  el(b).dispatchEvent(
    Object.assign(new MouseEvent('pointerdown', { bubbles: true, button: 0 }), { isPrimary: true, pointerType }),
  )
const up = (b: Shown) => {
  el(b).dispatchEvent(new MouseEvent('pointerup', { bubbles: true }))
  el(b).dispatchEvent(new MouseEvent('click', { bubbles: true, detail: 1 }))
}
const decided = (b: Shown) => b.emitted('decide')?.length ?? 0
const off = (b: Shown) => b.attributes('aria-disabled') === 'true'
async function pass(ms: number) {
  vi.advanceTimersByTime(ms)
  await nextTick()
}

test('a button that has been in its place long enough can be pressed, and reports how', async () => {
  const b = shown()
  expect(off(b)).toBe(true)
  await pass(1_000)
  expect(off(b)).toBe(false)
  down(b)
  up(b)
  down(b, 'mouse')
  up(b)
  expect(b.emitted('decide')).toEqual([[true], [false]])
})

test.each<[string, (b: Shown) => unknown]>([
  ['it appeared just now', (b) => [down(b), up(b)]],
  [
    'it was pushed aside before the finger came',
    async (b) => {
      await pass(1_000)
      top = 452
      await pass(300)
      down(b)
      up(b)
    },
  ],
  [
    'it was pushed aside in the very frame in which the finger came',
    async (b) => {
      await pass(1_000)
      top = 452
      down(b)
      up(b)
    },
  ],
  [
    'it was pushed aside while the finger was down',
    async (b) => {
      await pass(1_000)
      down(b)
      top = 452
      up(b)
    },
  ],
  [
    'something lay over it until now',
    async (b) => {
      await pass(1_000)
      covered = true
      await pass(200)
      covered = false
      await pass(300)
      down(b)
      up(b)
    },
  ],
  [
    'it is another card’s by the time the finger goes up',
    async (b) => {
      await pass(1_000)
      down(b)
      request = 'another'
      up(b)
    },
  ],
  [
    'its card was not free when the finger went down',
    async (b) => {
      await pass(1_000)
      facts = { ...READY, armed: false }
      down(b)
      facts = READY
      up(b)
    },
  ],
  [
    'the finger went down elsewhere',
    async (b) => {
      await pass(1_000)
      up(b)
    },
  ],
])('nothing is decided when %s', async (_, happens) => {
  const b = shown()
  await happens(b)
  expect(decided(b)).toBe(0)
})

test('a repeating key presses once, and a key that was already down does not press', async () => {
  const b = shown()
  await pass(1_000)
  const stroke = (repeat: boolean) => {
    const ev = new KeyboardEvent('keydown', { key: 'Enter', repeat, bubbles: true, cancelable: true })
    if (el(b).dispatchEvent(ev)) el(b).click()
  }
  for (const repeat of [true, true]) stroke(repeat)
  expect(decided(b)).toBe(0)
  for (const repeat of [false, true, true]) stroke(repeat)
  expect(decided(b)).toBe(1)
})

test('a held button counts at the end of its time, by touch or key, and never after a short press or a move', async () => {
  const b = shown({ hold: true, facts: {} })
  facts = { ...READY, level: 'high' }
  await pass(1_000)
  down(b)
  await pass(HOLD_MS - 50)
  up(b)
  await pass(HOLD_MS)
  expect(decided(b)).toBe(0)
  expect(b.emitted('brief')).toHaveLength(1)
  down(b)
  await pass(100)
  top = 400
  await pass(HOLD_MS)
  expect(decided(b)).toBe(0)
  await pass(1_000)
  down(b)
  await pass(HOLD_MS)
  expect(decided(b)).toBe(1)
  el(b).dispatchEvent(new KeyboardEvent('keydown', { key: ' ', bubbles: true, cancelable: true }))
  await pass(HOLD_MS)
  expect(decided(b)).toBe(2)
})
