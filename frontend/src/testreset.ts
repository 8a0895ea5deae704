import { disableAutoUnmount, enableAutoUnmount } from '@vue/test-utils'
import { setActivePinia } from 'pinia'
import { afterEach, vi } from 'vitest'

// The test files of a worker share the page, which takes half a second to create, and the libraries; each
// file has its own copies of the app's modules. This removes what the previous file left in the page. Only
// vi.mock would affect later files.

vi.resetModules()
vi.useRealTimers()
vi.unstubAllGlobals()
setActivePinia(undefined)
disableAutoUnmount()
enableAutoUnmount(afterEach)

type Listening = Parameters<EventTarget['addEventListener']>
const shared = globalThis as { listening?: [EventTarget, ...Listening][] }

if (typeof document !== 'undefined') {
  if (shared.listening) {
    for (const [target, type, listener, options] of shared.listening.splice(0))
      target.removeEventListener(type, listener, options)
  } else {
    const listening: [EventTarget, ...Listening][] = (shared.listening = [])
    for (const target of [window, document, document.documentElement, document.body]) {
      const add = target.addEventListener.bind(target) as EventTarget['addEventListener']
      target.addEventListener = (...args: Listening) => {
        listening.push([target, ...args])
        add(...args)
      }
    }
  }
  localStorage.clear()
  sessionStorage.clear()
  document.body.replaceChildren()
  document.head.replaceChildren()
  document.title = ''
  for (const element of [document.documentElement, document.body])
    for (const name of element.getAttributeNames()) element.removeAttribute(name)
  history.replaceState(null, '', '/')
}
