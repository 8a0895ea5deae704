import { afterEach, expect } from 'vitest'

// Browser APIs that jsdom lacks. A test file that needs no page starts with `// @vitest-environment node`,
// because creating a page takes half a second.

// `make sim` repeats what property tests generated. Without it they draw a seed, which a failure prints.
const seed = process.env['SAYSO_TEST_SEED']
if (seed) (await import('fast-check')).default.configureGlobal({ seed: Number(seed) })

class Observer {
  observe(): void {}
  unobserve(): void {}
  disconnect(): void {}
  takeRecords(): [] {
    return []
  }
}

/** Calls back on request; see arrive(). */
class Intersections extends Observer {
  static all = new Set<Intersections>()
  constructor(readonly callback: IntersectionObserverCallback) {
    super()
    Intersections.all.add(this)
  }
  override disconnect(): void {
    Intersections.all.delete(this)
  }
}

/** Reports everything observed as visible. */
export function arrive(): void {
  for (const o of Intersections.all) {
    o.callback([{ isIntersecting: true } as IntersectionObserverEntry], o as unknown as IntersectionObserver)
  }
}

class MediaQuery extends EventTarget {
  matches = false
}

// One map for all test files of a worker: a module that the previous file was still importing may use the
// matchMedia of that file, and must receive the changes made here.
const shared = globalThis as { mediaQueries?: Map<string, MediaQuery> }
const mediaQueries = (shared.mediaQueries ??= new Map<string, MediaQuery>())
for (const list of mediaQueries.values()) list.matches = false

/** mediaQuery returns the shared object for a media query, which does not match until setMedia is called. */
function mediaQuery(query: string): MediaQuery {
  const list = mediaQueries.get(query) ?? new MediaQuery()
  mediaQueries.set(query, list)
  return list
}

/** setMedia makes a media query match or not, like rotating a phone or resizing a window. */
export function setMedia(query: string, matches: boolean): void {
  const list = mediaQuery(query)
  list.matches = matches
  list.dispatchEvent(Object.assign(new Event('change'), { matches }))
}

const ALL = Boolean(process.env['SAYSO_TEST_ALL'])

/** The number of random inputs for a long test: all in `make test-all`, otherwise a third. */
export const runs = (all: number): number => (ALL ? all : Math.ceil(all / 3))

/** Whether a test tries a combination: all in `make test-all`, otherwise a third, with every row and every column among them. */
export const isTried = (row: number, column: number): boolean => ALL || (row + column) % 3 === 0

Object.assign(globalThis, {
  ResizeObserver: Observer,
  IntersectionObserver: Intersections,
  matchMedia: mediaQuery,
})
if (typeof document !== 'undefined') {
  // For MathML elements; HTML elements already have it.
  const styles = new WeakMap<Element, CSSStyleDeclaration>()
  Object.defineProperty(Element.prototype, 'style', {
    configurable: true,
    get(this: Element) {
      if (!styles.has(this)) styles.set(this, document.createElement('span').style)
      return styles.get(this)
    },
  })
  HTMLDialogElement.prototype.showModal ??= function (this: HTMLDialogElement) {
    this.open = true
  }
  HTMLDialogElement.prototype.close ??= function (this: HTMLDialogElement) {
    this.open = false
  }
  Element.prototype.scrollTo ??= () => {}
  Element.prototype.scrollIntoView ??= () => {}
}

// A warning of Vue fails the test that caused it.
const vueWarnings: string[] = []
// oxlint-disable no-console
const warn = console.warn.bind(console)
console.warn = (...args: unknown[]) => {
  if (String(args[0]).startsWith('[Vue warn]')) vueWarnings.push(args.map(String).join(' '))
  else warn(...args)
}
// oxlint-disable-next-line vitest/no-standalone-expect
afterEach(() => expect(vueWarnings.splice(0)).toEqual([]))
