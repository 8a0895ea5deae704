// A small OpenID Connect provider on loopback. Its page signs in whoever was set.
import { createHash, createSign, generateKeyPairSync, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'

export const clientSecret = 'a-client-secret-of-the-browser-tests'

export async function startProvider() {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const codes = new Map<string, URLSearchParams>()
  let claims: Record<string, unknown> = {}
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', url)
    const json = (status: number, value: object) =>
      response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(value))
    if (pathname === '/.well-known/openid-configuration') {
      json(200, {
        issuer: url,
        authorization_endpoint: `${url}/authorize`,
        token_endpoint: `${url}/token`,
        jwks_uri: `${url}/keys`,
        id_token_signing_alg_values_supported: ['RS256'],
      })
    } else if (pathname === '/keys') {
      json(200, { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'one', use: 'sig', alg: 'RS256' }] })
    } else if (pathname === '/authorize') {
      const code = randomUUID()
      codes.set(code, searchParams)
      const back = new URL(searchParams.get('redirect_uri') ?? '')
      back.search = new URLSearchParams({
        state: searchParams.get('state') ?? '',
        ...(claims.sub ? { code } : { error: 'access_denied' }),
      }).toString()
      response
        .writeHead(200, { 'Content-Type': 'text/html' })
        .end(`<title>Login</title><a href="${back.href.replaceAll('&', '&amp;')}">Continue</a>`)
    } else if (pathname === '/token') {
      let text = ''
      for await (const chunk of request) text += String(chunk)
      const form = new URLSearchParams(text)
      const asked = codes.get(form.get('code') ?? '')
      codes.delete(form.get('code') ?? '')
      const verifier = createHash('sha256')
        .update(form.get('code_verifier') ?? '')
        .digest('base64url')
      const known = request.headers.authorization === `Basic ${Buffer.from(`sayso:${clientSecret}`).toString('base64')}`
      if (!known || !asked || asked.get('code_challenge') !== verifier) return json(400, { error: 'invalid_grant' })
      const now = Math.floor(Date.now() / 1000)
      const signed = `${encode({ alg: 'RS256', kid: 'one' })}.${encode({ iss: url, aud: 'sayso', iat: now, exp: now + 60, nonce: asked.get('nonce'), ...claims })}`
      json(200, {
        access_token: 'x',
        token_type: 'Bearer',
        id_token: `${signed}.${createSign('RSA-SHA256').update(signed).sign(privateKey, 'base64url')}`,
      })
    } else json(404, {})
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  const url = `http://127.0.0.1:${address.port}`
  return {
    url,
    /** Who signs in from now on; nobody with {}. */
    is: (next: Record<string, unknown>) => (claims = next),
    async close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
