import type { InjectionKey } from 'vue'

/** leaveKey provides the function that signs the person out. It asks first if something was not sent. */
export const leaveKey: InjectionKey<() => void> = Symbol('leave')
