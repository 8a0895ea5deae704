// Shows what was last known while the server cannot be reached. It can decide nothing: it holds no
// request, no key and none of the app.
'use strict'

const WORDS = {
  en: {
    title: 'No connection to the server',
    words: 'You can answer requests once you’re connected again. This page reconnects by itself.',
    again: 'Try again',
    last: (at) => `Last known at ${at}`,
    untitled: 'Untitled session',
    waiting: (n) => (n === 1 ? '1 request needed your attention' : `${n} requests needed your attention`),
    states: { running: 'Running', your_turn: 'Your turn', idle: 'Idle' },
  },
  de: {
    title: 'Keine Verbindung zum Server',
    words: 'Du kannst Anfragen beantworten, sobald die Verbindung wieder da ist. Diese Seite verbindet sich selbst neu.',
    again: 'Erneut versuchen',
    last: (at) => `Zuletzt bekannt um ${at}`,
    untitled: 'Sitzung ohne Titel',
    waiting: (n) => (n === 1 ? '1 Anfrage brauchte deine Antwort' : `${n} Anfragen brauchten deine Antwort`),
    states: { running: 'Läuft', your_turn: 'Du bist dran', idle: 'Inaktiv' },
  },
}
const MAX_AGE_MS = 24 * 3600_000
const RETRY_MS = 10_000

async function lastKnown() {
  try {
    const known = await (await caches.match('/last', { cacheName: 'sayso-last' }))?.json()
    if (known && Date.now() - known.at < MAX_AGE_MS) return known
    await caches.delete('sayso-last')
  } catch {
    // Nothing is known, then.
  }
  return null
}

async function show() {
  const known = await lastKnown()
  const language = (known?.language ?? navigator.language).startsWith('de') ? 'de' : 'en'
  const words = WORDS[language]
  document.documentElement.lang = language
  const set = (id, text) => (document.getElementById(id).textContent = text)
  set('title', words.title)
  set('words', words.words)
  set('again', words.again)
  if (!known || known.sessions.length === 0) return
  set('when', words.last(new Date(known.at).toLocaleTimeString(language, { timeStyle: 'short' })))
  document.getElementById('list').append(
    ...known.sessions.map((s) => {
      const row = document.createElement('li')
      row.append(s.title || words.untitled)
      const state = document.createElement('small')
      state.textContent = s.waiting > 0 ? words.waiting(s.waiting) : (words.states[s.group] ?? '')
      if (state.textContent) row.append(state)
      return row
    }),
  )
  document.getElementById('last').hidden = false
}

async function again() {
  const there = await fetch('/healthz', { cache: 'no-store' }).then((r) => r.ok, () => false)
  if (there) location.reload()
}

void show()
document.getElementById('again').addEventListener('click', again)
addEventListener('online', again)
setInterval(again, RETRY_MS)
