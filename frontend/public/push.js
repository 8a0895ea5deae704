// Shows alerts while no tab does, and a page of its own while the server cannot be reached. Every page
// of the app comes from the server: none of its chunks is kept, so nobody sees or runs an old one.
'use strict'

// Another number for other files: the caches of earlier ones are deleted.
const OFFLINE = 'sayso-offline-1'
const OFFLINE_FILES = ['/offline.html', '/offline.css', '/offline.js', '/favicon.svg']

addEventListener('install', (ev) => {
  ev.waitUntil(caches.open(OFFLINE).then((cache) => cache.addAll(OFFLINE_FILES)))
  skipWaiting()
})
addEventListener('activate', (ev) => {
  ev.waitUntil((async () => {
    const old = (await caches.keys()).filter((name) => name.startsWith('sayso-offline-') && name !== OFFLINE)
    await Promise.all([clients.claim(), ...old.map((name) => caches.delete(name))])
  })())
})

const kept = async (path) => (await caches.match(path, { cacheName: OFFLINE })) ?? Response.error()

addEventListener('fetch', (ev) => {
  const { request } = ev
  const { origin, pathname } = new URL(request.url)
  if (origin !== location.origin) return
  if (request.mode === 'navigate') {
    if (request.method === 'POST' && pathname === '/share') ev.respondWith(receive(request))
    else if (request.method === 'GET') ev.respondWith(fetch(request).catch(() => kept('/offline.html')))
  } else if (OFFLINE_FILES.includes(pathname)) ev.respondWith(fetch(request).catch(() => kept(pathname)))
})

// What another app shares waits here until its person has said where it goes. A page of another site
// can send it as well, so nothing else happens to it.
async function receive(request) {
  const form = await request.formData()
  const files = form.getAll('files').filter((f) => typeof f !== 'string').slice(0, 20)
  const text = ['title', 'text', 'url'].map((name) => form.get(name)).filter((t) => typeof t === 'string' && t !== '')
  await caches.delete('sayso-share')
  const cache = await caches.open('sayso-share')
  await cache.put('/shared', Response.json({ text: [...new Set(text)].join('\n'), files: files.map((f) => ({ name: f.name, type: f.type })) }))
  await Promise.all(files.map((f, i) => cache.put(`/shared/${i}`, new Response(f))))
  return Response.redirect('/share', 303)
}

// Safari takes the right to alert away when a message shows nothing.
const mustShow = /AppleWebKit/.test(navigator.userAgent) && !/Chrom(e|ium)/.test(navigator.userAgent)

// The number on the icon: the open requests, as far as they were shown here. A page that is open knows better.
async function count() {
  const pages = await clients.matchAll({ type: 'window' })
  if (pages.length === 0) await navigator.setAppBadge?.((await registration.getNotifications()).length)
}

async function told(m) {
  const shown = await registration.getNotifications({ tag: m.tag })
  if (m.kind === 'close') {
    if (mustShow && shown.length > 0) await registration.showNotification(m.title, { tag: m.tag, body: m.body, silent: true })
    else for (const n of shown) n.close()
    return
  }
  await registration.showNotification(m.title, {
    tag: m.tag, body: m.body, renotify: m.renotify === true, icon: '/icon-192.png', badge: '/badge-96.png', data: { path: m.path },
  })
}

addEventListener('push', (ev) => {
  let m
  try {
    m = ev.data.json()
  } catch {
    m = { kind: 'show', tag: 'sayso', title: 'sayso', path: '/' }
  }
  ev.waitUntil(told(m).then(count))
})

// How long a tab has to reply. The page to sign in, a transcript as plain text and the offline page never do.
const REPLY_MS = 500

// Reports whether the app in a tab opens a path.
const opens = (tab, path) => new Promise((done) => {
  const { port1, port2 } = new MessageChannel()
  port1.onmessage = () => done(true)
  setTimeout(() => done(false), REPLY_MS)
  tab.postMessage({ type: 'open', path }, [port2])
})

addEventListener('notificationclick', (ev) => {
  ev.notification.close()
  const path = new URL(ev.notification.data?.path ?? '/', location.origin)
  if (path.origin !== location.origin) return
  const to = path.pathname + path.search
  ev.waitUntil((async () => {
    const tabs = await clients.matchAll({ type: 'window', includeUncontrolled: true })
    const tab = tabs.find((t) => t.focused) ?? tabs[0]
    if (!tab) return clients.openWindow(to)
    // After a focus, a browser opens no window until the next click.
    if (await opens(tab, to)) return tab.focus()
    // A tab that this worker does not control cannot be navigated.
    const there = await tab.navigate(to).catch(() => null)
    return there ? there.focus() : clients.openWindow(to)
  })())
})

// The push service gave this browser another address.
addEventListener('pushsubscriptionchange', (ev) => {
  ev.waitUntil((async () => {
    const made = (ev.newSubscription ?? await registration.pushManager.subscribe(ev.oldSubscription.options)).toJSON()
    // Workers see no local storage; the page has left its key here.
    const key = await (await caches.match('/page-key', { cacheName: 'sayso-page-key' }))?.text()
    await fetch('/api/alerts/targets', {
      method: 'POST', credentials: 'same-origin', headers: { 'Content-Type': 'application/json', 'X-Sayso-Page-Key': key ?? '' },
      body: JSON.stringify({ way: 'push', url: made.endpoint, p256dh: made.keys.p256dh, auth: made.keys.auth }),
    })
  })())
})
