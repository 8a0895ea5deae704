import { mount } from '@vue/test-utils'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { defineComponent, h, nextTick, ref, shallowRef } from 'vue'
import { useFollowEnd } from './useFollowEnd'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => vi.useRealTimers())

/** A list of 100 rows, 1000 px long, of which 200 px show; it is at its end. */
function list() {
  const scrollToIndex = vi.fn<(index: number, options?: object) => void>()
  const view = { scrollSize: 1000, viewportSize: 200, scrollOffset: 800, scrollToIndex }
  const total = ref(100)
  let it!: ReturnType<typeof useFollowEnd>
  mount(
    defineComponent({
      setup() {
        const frame = shallowRef<HTMLElement | null>(null)
        it = useFollowEnd(
          shallowRef(view),
          frame,
          () => 100,
          () => total.value,
        )
        return () => h('div', { ref: frame })
      },
    }),
  )
  return { ...it, view, total, scrollToIndex }
}
async function drawn() {
  await nextTick()
  vi.advanceTimersToNextFrame()
}

test('starts at the end and stays there', async () => {
  const it = list()
  await drawn()
  expect(it.scrollToIndex).toHaveBeenLastCalledWith(99, { align: 'end' })
  expect([it.following.value, it.newItems.value]).toEqual([true, 100])
})

test('scrolling up with the wheel leaves the end, and shows how many items arrived since', async () => {
  const it = list()
  await drawn()
  it.handlers.wheel(new WheelEvent('wheel', { deltaY: -1 }))
  expect(it.following.value).toBe(false)
  it.scrollToIndex.mockClear()
  it.total.value = 103
  it.keepEnd()
  await drawn()
  expect(it.scrollToIndex).not.toHaveBeenCalled()
  expect(it.newItems.value).toBe(3)
})

test('a list that fits always follows the end', () => {
  const it = list()
  it.view.scrollSize = 150
  it.handlers.wheel(new WheelEvent('wheel', { deltaY: -1 }))
  expect(it.following.value).toBe(true)
})

test('scrolling back to the end follows it again, and so does the key End', async () => {
  const it = list()
  it.stopFollowing()
  it.scrolled(500)
  expect(it.following.value).toBe(false)
  it.scrolled(790)
  expect(it.following.value).toBe(true)
  it.handlers.keydown(new KeyboardEvent('keydown', { key: 'PageUp' }))
  expect(it.following.value).toBe(false)
  it.handlers.keydown(new KeyboardEvent('keydown', { key: 'End' }))
  expect(it.following.value).toBe(true)
})

test('dragging the scrollbar past the end does not follow it', () => {
  const it = list()
  const feed = document.createElement('div')
  feed.setAttribute('role', 'feed')
  feed.addEventListener('pointerdown', (ev) => it.handlers.pointerdown(ev as PointerEvent))
  feed.dispatchEvent(new MouseEvent('pointerdown'))
  it.scrolled(300)
  expect(it.following.value).toBe(false)
  it.scrolled(800)
  expect(it.following.value).toBe(false)
  dispatchEvent(new Event('pointerup'))
  it.scrolled(800)
  expect(it.following.value).toBe(true)
})
