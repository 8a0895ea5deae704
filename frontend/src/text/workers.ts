import drawURL from './draw.worker?worker&url'
import highlightURL from './highlight.worker?worker&url'

const ADDRESSES = { draw: drawURL, highlight: highlightURL }

// Trusted Types: the second policy of the app, for the addresses of its workers.
let policy: Pick<TrustedTypePolicy, 'createScriptURL'> | undefined

/** Starts a worker of the app. It throws if the browser has none. */
export function startWorker(name: keyof typeof ADDRESSES): Worker {
  policy ??= window.trustedTypes?.createPolicy('sayso-worker', {
    createScriptURL: (url: string) => (Object.values(ADDRESSES).includes(url) ? url : ''),
  })
  const url = ADDRESSES[name]
  return new Worker((policy?.createScriptURL(url) ?? url) as string, { type: 'module' })
}
