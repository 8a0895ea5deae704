// A cable between the browser and the server that can be cut.
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

export async function cuttable(to: string) {
  const { hostname, port } = new URL(to)
  const open = new Set<Socket>()
  const server = createServer((near) => {
    const far = connect(Number(port), hostname)
    for (const [from, into] of [
      [near, far],
      [far, near],
    ]) {
      open.add(from)
      from.on('error', () => into.destroy())
      from.on('close', () => {
        open.delete(from)
        into.destroy()
      })
      from.pipe(into)
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  const cut = () => {
    server.close()
    for (const socket of open) socket.destroy()
  }
  return {
    url: `http://127.0.0.1:${address.port}`,
    cut,
    async mend() {
      server.listen(address.port, '127.0.0.1')
      await once(server, 'listening')
    },
    async close() {
      cut()
    },
  }
}
