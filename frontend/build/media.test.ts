// @vitest-environment node
import { expect, test } from 'vitest'
import { withQueries } from './media'

const queries = { narrow: '(max-width: 9px)', short: '(max-height: 5px)' }

test('custom media queries are replaced in media rules alone', () => {
  expect(withQueries('@media (--narrow) and (--short), print { a { color: var(--narrow) } }', queries)).toBe(
    '@media (max-width: 9px) and (max-height: 5px), print { a { color: var(--narrow) } }',
  )
})

test('an unknown name is an error', () => {
  expect(() => withQueries('@media (--wide) {}', queries)).toThrow('--wide')
})
