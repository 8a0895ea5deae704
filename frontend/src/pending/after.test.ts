import { nextTick } from 'vue'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { setMedia } from '@/testsetup'
import type { Request } from '@/wire/messages.gen'
import { answeredAll, armed, button, choose, dock, has, looked, newHour, request } from './testdock'

// After a decision nothing is decided by the hand that is still where it gave it.

beforeEach(() => {
  localStorage.clear()
  newHour()
  vi.useFakeTimers({ now: Date.now() })
})

const cards = (d: ReturnType<typeof dock>) =>
  d.wrapper.findAll('[data-request-id]').map((c) => c.attributes('data-request-id'))

async function approved(first: Request[], after: Request[]) {
  const d = dock(first)
  await armed()
  await button(d.wrapper, 'Approve').trigger('click')
  await d.ack({ result: 'applied' })
  await d.state(after)
  await answeredAll()
  return d
}

describe('on a touch screen', () => {
  beforeEach(() => setMedia('(pointer: coarse)', true))
  afterEach(() => setMedia('(pointer: coarse)', false))

  test('a request that arrives after a decision waits until the person asks for it', async () => {
    const d = await approved([request('a')], [])
    expect(cards(d)).toEqual([])
    expect(d.wrapper.text()).toContain('Approved')
    vi.advanceTimersByTime(1_600)
    await d.state([request('b')])
    await armed()
    expect(cards(d)).toEqual([])
    expect(has(d.wrapper, 'Approve')).toBe(false)
    await button(d.wrapper, 'Next request').trigger('click')
    await answeredAll()
    expect(cards(d)).toEqual(['b'])
    // And is as new as one just asked.
    await button(d.wrapper, 'Approve').trigger('click')
    expect(d.answers).toHaveLength(1)
  })

  test('a request that arrives with the state that ends a decision waits too', async () => {
    const d = await approved([request('a')], [request('b')])
    expect(cards(d)).toEqual([])
    expect(has(d.wrapper, 'Next request')).toBe(true)
  })

  test('the card next to it stays in its place', async () => {
    const d = await approved([request('a'), request('b')], [request('b'), request('c')])
    expect(cards(d)).toEqual(['b'])
    expect(d.wrapper.findAll('[data-slot]').map((s) => s.attributes('data-slot'))).toEqual(['a', 'b'])
  })

  test('a request that arrives while a decision is held waits, and an undone request can be decided again', async () => {
    const d = dock([request('a')])
    await armed()
    await button(d.wrapper, 'Approve').trigger('click')
    const held = {
      by: 'ada',
      mine: true,
      decision: 'allow' as const,
      at: Date.now() / 1000,
      until: Date.now() / 1000 + 3,
    }
    await d.ack({ result: 'applied', held_until: held.until })
    await d.state([request('a', { held }), request('b')])
    expect(cards(d)).toEqual(['a'])
    expect(has(d.wrapper, 'Undo')).toBe(true)
    await d.state([request('a'), request('b')])
    expect(cards(d)).toEqual(['a', 'b'])
    await button(d.wrapper, 'Approve').trigger('click')
    expect(d.answers).toHaveLength(1)
  })

  test('an answer that is held when the page loads, or given in another tab, is shown', async () => {
    const held = {
      by: 'ada',
      mine: true,
      decision: 'allow' as const,
      at: Date.now() / 1000,
      until: Date.now() / 1000 + 3,
    }
    const d = dock([request('a', { held }), request('b')])
    await answeredAll()
    expect(cards(d)).toEqual(['a', 'b'])
    await d.state([request('a', { held }), request('b'), request('c', { held }), request('d')])
    expect(cards(d)).toEqual(['a', 'b', 'c'])
  })

  test('the outcome disappears when nothing else waits and nobody touches the page', async () => {
    const d = await approved([request('a')], [])
    vi.advanceTimersByTime(9_000)
    dispatchEvent(new Event('pointerdown'))
    vi.advanceTimersByTime(9_000)
    await nextTick()
    expect(d.wrapper.text()).toContain('Approved')
    vi.advanceTimersByTime(1_000)
    await nextTick()
    expect(d.wrapper.text()).toBe('')
    await d.state([request('b')])
    expect(cards(d)).toEqual(['b'])
  })
})

test('the outcome of an edited approval shows what ran', async () => {
  const d = dock([request('a', { tool_name: 'Bash', tool_input: { command: 'touch asked' } })])
  await armed()
  await choose(d.wrapper, 'Edit')
  await d.wrapper.find('textarea').setValue('touch ran')
  await looked()
  await armed()
  await button(d.wrapper, 'Approve').trigger('click')
  await d.ack({ result: 'applied' })
  await d.state([])
  await answeredAll()
  expect(d.answers).toHaveLength(1)
  expect(d.wrapper.text()).toContain('Approved, edited')
  expect(d.wrapper.text()).toContain('touch ran')
  expect(d.wrapper.text()).not.toContain('touch asked')
})

const heldNow = () => ({
  by: 'ada',
  mine: true,
  decision: 'allow' as const,
  at: Date.now() / 1000,
  until: Date.now() / 1000 + 3,
})

test('the card becomes a strip, and the next card opens below it', async () => {
  const d = await approved([request('a')], [])
  expect(d.wrapper.find('.outcome').text()).toContain('Approved')
  await d.state([request('b')])
  expect(cards(d)).toEqual(['b'])
  expect(d.wrapper.findAll('[data-slot]').map((s) => s.attributes('data-slot'))).toEqual(['a', 'b'])
  // The strip goes by itself, or when it is put away.
  vi.advanceTimersByTime(5_000)
  await nextTick()
  expect(d.wrapper.find('.outcome').exists()).toBe(false)
  expect(cards(d)).toEqual(['b'])
})

test('a strip can be dismissed', async () => {
  const d = await approved([request('a')], [request('b')])
  await button(d.wrapper, 'Done').trigger('click')
  expect(d.wrapper.find('.outcome').exists()).toBe(false)
  expect(cards(d)).toEqual(['b'])
})

test.each(['pointer', 'key'])('the card below decides nothing before the %s has moved', async (by) => {
  const at = (x: number, type: string) =>
    dispatchEvent(Object.assign(new Event(type), { clientX: x, clientY: 0, button: 0, isPrimary: true }))
  const d = dock([request('a'), request('b')])
  await armed()
  if (by === 'pointer') at(100, 'pointerdown')
  else dispatchEvent(new KeyboardEvent('keydown', { key: 'y' }))
  await button(d.wrapper.find('[data-request-id=a]') as never, 'Approve').trigger('click')
  expect(d.answers).toHaveLength(1)
  await d.ack({ result: 'applied' })
  await d.state([request('b')])
  await answeredAll()
  const approve = () => button(d.wrapper, 'Approve').trigger('click')
  vi.advanceTimersByTime(20_000)
  if (by === 'pointer') at(107, 'pointermove')
  vi.advanceTimersByTime(20_000)
  await approve()
  expect(d.answers).toHaveLength(1)
  if (by === 'pointer') at(108, 'pointermove')
  else dispatchEvent(new KeyboardEvent('keyup', { key: 'y' }))
  vi.advanceTimersByTime(599)
  await nextTick()
  await approve()
  expect(d.answers).toHaveLength(1)
  vi.advanceTimersByTime(1)
  await nextTick()
  await approve()
  expect(d.answers).toHaveLength(2)
})

test('an approval that was refused is pressed again in the same place', async () => {
  const d = dock([request('a')])
  await armed()
  dispatchEvent(Object.assign(new Event('pointerdown'), { clientX: 100, clientY: 0, button: 0, isPrimary: true }))
  await button(d.wrapper, 'Approve').trigger('click')
  await d.ack({ result: 'rejected', error: { code: 'disk_full', message: 'The disk is full.' } })
  vi.advanceTimersByTime(599)
  await nextTick()
  await button(d.wrapper, 'Approve').trigger('click')
  expect(d.answers).toHaveLength(1)
  vi.advanceTimersByTime(1)
  await nextTick()
  await button(d.wrapper, 'Approve').trigger('click')
  expect(d.answers).toHaveLength(2)
})

test('the strip of a held answer offers undo, and disappears soon after', async () => {
  const d = dock([request('a')])
  await armed()
  await button(d.wrapper, 'Approve').trigger('click')
  const held = heldNow()
  await d.ack({ result: 'applied', held_until: held.until })
  await d.state([request('a', { held }), request('b')])
  expect(cards(d)).toEqual(['b'])
  expect(d.wrapper.find('.outcome').text()).toContain('Goes to Claude in 3 s')
  expect(has(d.wrapper, 'Undo')).toBe(true)
  await d.state([request('b')])
  expect(has(d.wrapper, 'Undo')).toBe(false)
  expect(d.wrapper.find('.outcome').text()).toContain('Approved')
  expect(d.wrapper.find('.outcome').text()).not.toContain('Goes to Claude')
  vi.advanceTimersByTime(1_500)
  await nextTick()
  expect(d.wrapper.find('.outcome').exists()).toBe(false)
})

test('the focus moves from the card to its strip, and back after an undo', async () => {
  const d = dock([request('a')])
  await armed()
  await d.focusFirst()
  const held = heldNow()
  await d.state([request('a', { held })])
  await nextTick()
  expect(document.activeElement?.className).toContain('outcome')
  await d.state([request('a')])
  await nextTick()
  expect((document.activeElement as HTMLElement).dataset['requestId']).toBe('a')
  expect(d.wrapper.find('.outcome').exists()).toBe(false)
})

test('an answer that is held when the page loads is a strip', async () => {
  const d = dock([request('a', { held: heldNow() }), request('b')])
  await answeredAll()
  expect(cards(d)).toEqual(['b'])
  expect(d.wrapper.findAll('[data-slot]').map((s) => s.attributes('data-slot'))).toEqual(['a', 'b'])
})

test('a request that another person answers leaves no strip, and moves the focus to no other card', async () => {
  const d = dock([request('a'), request('b')])
  await armed()
  await d.focusFirst()
  await d.state([request('b')])
  await answeredAll()
  expect(cards(d)).toEqual(['b'])
  expect((document.activeElement as HTMLElement).closest('[data-request-id]')).toBeNull()
})
