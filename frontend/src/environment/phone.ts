import { call } from '@/connection/rest'
import type { PhoneAccess } from '@/wire/messages.gen'

/** Whether this page came from the machine it is shown on, by an address that no phone can use. */
export const onServer = ['localhost', '127.0.0.1', '[::1]'].includes(location.hostname)

/** Returns how a phone reaches the server. It takes up to a second. */
export const phoneAccess = () => call<PhoneAccess>('GET', '/api/phone')
