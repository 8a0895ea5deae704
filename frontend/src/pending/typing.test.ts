import fc from 'fast-check'
import { nextTick } from 'vue'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { arrive, runs } from '@/testsetup'
import type { Request } from '@/wire/messages.gen'
import { armed, asks, dock, newHour, question, request } from './testdock'

// Somebody types a message while cards come, go and ask. Whatever the keys are
// and however the focus is pushed about, nothing that was not decided in a card
// on purpose is ever decided.

beforeEach(() => {
  newHour()
  vi.useFakeTimers({ now: Date.now() })
})

const KEYS = ['Enter', ' ', 'y', 'Y', 'n', 'N', '1', '0', 'e', 'a', 'v', 'z', 'x', 'Escape', 'Tab', 'd', 't']

type Step =
  | { do: 'type'; key: string; ctrlKey?: boolean; repeat?: boolean; isComposing?: boolean; altGraph?: boolean }
  | { do: 'come'; kind: 'bash' | 'plan' | 'question' | 'edit' }
  | { do: 'go' }
  | { do: 'window' }
  | { do: 'wait'; ms: number }

// Most keys are plain ones, and half of the waits long enough for a card to take decisions:
// else hardly a run would ever come to press what decides.
const rarely = fc.oneof({ weight: 7, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) })
const span = fc.oneof(fc.integer({ min: 1, max: 3_000 }), fc.constantFrom(600, 1_500, 3_000))

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('type' as const),
      key: fc.constantFrom(...KEYS, 'y', 'Enter', ' '),
      repeat: rarely,
      isComposing: rarely,
      altGraph: rarely,
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('come' as const),
      kind: fc.constantFrom('bash' as const, 'plan' as const, 'question' as const, 'edit' as const),
    }),
  },
  { weight: 1, arbitrary: fc.constant<Step>({ do: 'go' }) },
  { weight: 1, arbitrary: fc.constant<Step>({ do: 'window' }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: span }) },
)

const made: Record<'bash' | 'plan' | 'question' | 'edit', (id: string) => Request> = {
  bash: (id) => request(id),
  plan: (id) => request(id, { tool_name: 'ExitPlanMode', tool_input: { plan: 'Do it' } }),
  question: (id) => asks(id, [question('q', 'select', ['One', 'Two'])]),
  edit: (id) => request(id, { tool_name: 'Edit', tool_input: { file_path: '/w/a', old_string: 'a', new_string: 'b' } }),
}

/** A key as a browser gives it: keydown, and the press of a button that has the focus. */
function press(s: Extract<Step, { do: 'type' }>) {
  const at = document.activeElement ?? document.body
  const ev = new KeyboardEvent('keydown', {
    ...s,
    bubbles: true,
    cancelable: true,
    modifierAltGraph: s.altGraph === true,
  })
  const free = at.dispatchEvent(ev)
  if (free && !s.repeat && !s.isComposing && at instanceof HTMLButtonElement && (s.key === 'Enter' || s.key === ' '))
    at.click()
}

async function run(steps: Step[], begin?: (d: ReturnType<typeof dock>) => Promise<void>) {
  const d = dock([])
  try {
    d.before.focus()
    let open: Request[] = []
    let n = 0
    if (begin) await begin(d)
    for (const s of steps) {
      switch (s.do) {
        case 'type':
          press(s)
          break
        case 'come':
          open = [...open, made[s.kind](`r${++n}`)]
          await d.state(open)
          arrive()
          break
        case 'go':
          open = open.slice(1)
          await d.state(open)
          break
        case 'window':
          dispatchEvent(new Event('blur'))
          dispatchEvent(new Event('focus'))
          document.dispatchEvent(new Event('visibilitychange'))
          break
        case 'wait':
          vi.advanceTimersByTime(s.ms)
      }
      await nextTick()
    }
    return d.answers.slice()
  } finally {
    d.wrapper.unmount()
    d.before.remove()
    localStorage.clear()
  }
}

describe('typing', () => {
  it('in the composer decides nothing, whatever appears', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        expect(await run(steps)).toEqual([])
      }),
      { numRuns: runs(400) },
    )
  })

  it('on into a card that just got the focus decides nothing', async () => {
    const typed = step.filter((s) => s.do === 'type')
    await fc.assert(
      fc.asyncProperty(
        fc.array(typed, { maxLength: 20 }),
        fc.constantFrom('bash' as const, 'plan' as const, 'question' as const, 'edit' as const),
        async (steps, kind) => {
          const answers = await run(steps, async (d) => {
            await d.state([made[kind]('first')])
            await armed()
            // As Alt+. does, and as a card that leaves does to its neighbour.
            await d.focusFirst()
          })
          expect(answers).toEqual([])
        },
      ),
      { numRuns: runs(100) },
    )
  })

  it('decides once the card has had the focus for a moment, so the tests above can fail', async () => {
    const d = dock([request('r')])
    await armed()
    await d.focusFirst()
    await armed()
    press({ do: 'type', key: 'y' })
    expect(d.answers).toHaveLength(1)
    d.wrapper.unmount()
  })
})
