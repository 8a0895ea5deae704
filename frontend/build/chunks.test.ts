// @vitest-environment node
import { expect, test } from 'vitest'
import { together } from './chunks'

// Who imports whom: the entry, a route that it fetches later, a part of both, and one of the route alone.
const importers: Record<string, string[]> = {
  '/src/main.ts': [],
  '/src/Route.vue': [],
  '/src/Route.vue?vue&type=style': ['/src/Route.vue'],
  '/src/both.ts': ['/src/main.ts', '/src/Route.vue', '/src/round.ts'],
  '/src/round.ts': ['/src/both.ts'],
  '/src/deep.ts': ['/src/own.ts'],
  '/src/own.ts': ['/src/Route.vue'],
  '/src/other.ts': [],
}
const modules = { getModuleInfo: (id: string) => ({ importers: importers[id] ?? [] }) }

test('a module goes to the first entry that needs it, and what none needs stays free', () => {
  const name = together([
    ['app', '/src/main.ts'],
    ['route', '/src/Route.vue'],
  ])
  expect(Object.fromEntries(Object.keys(importers).map((id) => [id, name(id, modules)]))).toEqual({
    '/src/main.ts': 'app',
    '/src/both.ts': 'app',
    '/src/round.ts': 'app',
    '/src/Route.vue': 'route',
    '/src/Route.vue?vue&type=style': 'route',
    '/src/own.ts': 'route',
    '/src/deep.ts': 'route',
    '/src/other.ts': null,
  })
})
