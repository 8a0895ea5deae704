// The browser's part of WebAuthn. The server uses base64url where the browser uses bytes, and not all
// browsers convert by themselves.

type Wire = Record<string, unknown>

/**
 * PasskeyError is the reason why a passkey was neither created nor used: the person or the device refused.
 */
export class PasskeyError extends Error {
  constructor(
    readonly why: 'cancelled' | 'there' | 'failed',
    options?: ErrorOptions,
  ) {
    super(why, options)
    this.name = 'PasskeyError'
  }
}

export const supported = () => typeof PublicKeyCredential === 'function' && isSecureContext

/** Reports whether the browser can offer passkeys in autofill. */
export async function canOffer(): Promise<boolean> {
  return supported() && ((await PublicKeyCredential.isConditionalMediationAvailable?.()) ?? false)
}

function bytes(text: unknown): ArrayBuffer {
  const plain = atob(String(text).replaceAll('-', '+').replaceAll('_', '/'))
  return Uint8Array.from(plain, (c) => c.charCodeAt(0)).buffer
}

function text(buffer: ArrayBuffer): string {
  return btoa(Array.from(new Uint8Array(buffer), (b) => String.fromCharCode(b)).join(''))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
}

const withIDs = (list: unknown) => ((list ?? []) as Wire[]).map((c) => ({ ...c, id: bytes(c['id']) }))

async function ask<T>(what: () => Promise<Credential | null>, read: (c: PublicKeyCredential) => T): Promise<T> {
  try {
    const made = await what()
    if (!(made instanceof PublicKeyCredential)) throw new PasskeyError('failed')
    return read(made)
  } catch (err) {
    if (err instanceof PasskeyError) throw err
    const name = err instanceof Error ? err.name : ''
    const cancelled = name === 'NotAllowedError' || name === 'AbortError'
    throw new PasskeyError(cancelled ? 'cancelled' : name === 'InvalidStateError' ? 'there' : 'failed', { cause: err })
  }
}

const common = (c: PublicKeyCredential) => ({
  id: c.id,
  rawId: text(c.rawId),
  type: c.type,
  authenticatorAttachment: c.authenticatorAttachment ?? undefined,
  clientExtensionResults: {},
})

/** Creates a passkey for the server's options, in the form that the server accepts. */
export function makePasskey(options: unknown): Promise<object> {
  const o = options as Wire & { user: Wire }
  const publicKey = {
    ...o,
    challenge: bytes(o['challenge']),
    user: { ...o.user, id: bytes(o.user['id']) },
    excludeCredentials: withIDs(o['excludeCredentials']),
  } as unknown as PublicKeyCredentialCreationOptions
  return ask(
    () => navigator.credentials.create({ publicKey }),
    (c) => {
      const r = c.response as AuthenticatorAttestationResponse
      return {
        ...common(c),
        response: {
          clientDataJSON: text(r.clientDataJSON),
          attestationObject: text(r.attestationObject),
          transports: r.getTransports?.() ?? [],
        },
      }
    },
  )
}

/**
 * Signs the server's challenge. With a signal, it waits without a dialog until the person chooses a passkey
 * in autofill.
 */
export function signWithPasskey(options: unknown, offered?: AbortSignal): Promise<object> {
  const o = options as Wire
  const publicKey = {
    ...o,
    challenge: bytes(o['challenge']),
    allowCredentials: withIDs(o['allowCredentials']),
  } as unknown as PublicKeyCredentialRequestOptions
  const request: CredentialRequestOptions = offered
    ? { publicKey, mediation: 'conditional', signal: offered }
    : { publicKey }
  return ask(
    () => navigator.credentials.get(request),
    (c) => {
      const r = c.response as AuthenticatorAssertionResponse
      return {
        ...common(c),
        response: {
          clientDataJSON: text(r.clientDataJSON),
          authenticatorData: text(r.authenticatorData),
          signature: text(r.signature),
          userHandle: r.userHandle ? text(r.userHandle) : undefined,
        },
      }
    },
  )
}
