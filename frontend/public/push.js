// Shows alerts while no tab does. It answers no fetch: every page comes from the
// server, so that nobody sees an old one.
'use strict'

addEventListener('install', () => skipWaiting())
addEventListener('activate', (ev) => ev.waitUntil(clients.claim()))

// Safari takes the right to alert away when a message shows nothing.
const mustShow = /AppleWebKit/.test(navigator.userAgent) && !/Chrom(e|ium)/.test(navigator.userAgent)

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
  ev.waitUntil(told(m))
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
    tab.postMessage({ type: 'open', path: to })
    return tab.focus()
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
