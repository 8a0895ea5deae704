import { call } from '@/connection/rest'
import type { PhoneAccess } from '@/wire/messages.gen'

/** Whether this page was loaded from a loopback address, which works only on the server's machine. */
export const onServer = ['localhost', '127.0.0.1', '[::1]'].includes(location.hostname)

/** Returns how a phone reaches the server. It takes up to a second. */
export const phoneAccess = () => call<PhoneAccess>('GET', '/api/phone')
