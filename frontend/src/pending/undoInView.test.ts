import { expect, test } from 'vitest'
import { effectScope, nextTick, ref } from 'vue'
import { undoInView, useUndoInView } from './undoInView'

test('the undo of a request is in view while its button is', async () => {
  const button = ref<HTMLElement | null>(null)
  const scope = effectScope()
  scope.run(() => useUndoInView(button, () => ['r1']))
  expect(undoInView('r1')).toBe(false)
  button.value = document.createElement('button')
  await nextTick()
  expect(undoInView('r1')).toBe(true)
  expect(undoInView('r2')).toBe(false)
  button.value = null
  await nextTick()
  expect(undoInView('r1')).toBe(false)
  button.value = document.createElement('button')
  await nextTick()
  scope.stop()
  expect(undoInView('r1')).toBe(false)
})
