import type { Plugin } from 'vite'

/**
 * Replaces custom media queries, `@media (--name)`, by the queries of this table.
 * Browsers know no custom media yet, and custom properties cannot stand in a query.
 */
export function customMedia(queries: Readonly<Record<string, string>>): Plugin {
  return {
    name: 'sayso-custom-media',
    enforce: 'pre',
    transform: {
      filter: { id: /\.css$|[?&]type=style\b/ },
      handler: (code) => ({ code: withQueries(code, queries), map: null }),
    },
  }
}

/** withQueries returns css with its custom media queries replaced; it throws for one that is not in the table. */
export function withQueries(css: string, queries: Readonly<Record<string, string>>): string {
  return css.replace(/@media[^{]*/g, (prelude) =>
    prelude.replace(/\(--([\w-]+)\)/g, (_, name: string) => {
      const query = queries[name]
      if (query === undefined) throw new Error(`no media query is called --${name}`)
      return query
    }),
  )
}
