#!/usr/bin/env node
// Starts Firefox for Playwright, which talks WebDriver BiDi with it, and stands between the two: what
// a Firefox of the extended support release does not know yet is answered as if it had done it, where
// the tests do without. The first argument of Firefox's is --remote-debugging-port.
import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { createInterface } from 'node:readline'

const { ws: WebSocket, wsServer: WebSocketServer } = createRequire(import.meta.url)('playwright-core/lib/utilsBundle')

// Schemes of colour and motion are chosen by preferences instead, see playwright.config.ts.
const DO_WITHOUT = new Set(['emulation.setMediaFeaturesOverride'])

const firefox = spawn(process.env.SAYSO_TEST_FIREFOX, process.argv.slice(2), { stdio: ['ignore', 'inherit', 'pipe'] })
firefox.on('exit', (code, signal) => process.exit(signal ? 1 : (code ?? 1)))
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => firefox.kill(signal))

createInterface({ input: firefox.stderr }).on('line', (line) => {
  const found = /WebDriver BiDi listening on (ws:\S+)/.exec(line)
  if (!found) return void console.error(line)
  const relay = new WebSocketServer({ host: '127.0.0.1', port: 0 })
  relay.on('listening', () => console.error(`WebDriver BiDi listening on ws://127.0.0.1:${relay.address().port}`))
  relay.on('connection', (near) => {
    const far = new WebSocket(`${found[1]}/session`)
    const early = []
    far.on('open', () => early.splice(0).forEach((text) => far.send(text)))
    near.on('message', (data) => {
      const text = String(data)
      const { id, method } = JSON.parse(text)
      if (DO_WITHOUT.has(method)) near.send(JSON.stringify({ type: 'success', id, result: {} }))
      else if (far.readyState === WebSocket.OPEN) far.send(text)
      else early.push(text)
    })
    far.on('message', (data) => near.send(String(data)))
    far.on('close', () => near.close())
    far.on('error', () => near.close())
    near.on('close', () => far.close())
  })
})
