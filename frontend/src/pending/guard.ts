import type { InjectionKey } from 'vue'
import { touch } from '@/ui/narrow'
import type { Act, Facts, How, Obstacle } from './decide'

/** Guard is what a card or a confirmation knows of its request, for decide.ts. */
export interface Guard {
  request(): string
  obstacle(act: Act, more?: Partial<Facts>, how?: How): Obstacle | null
}

export const guardKey: InjectionKey<Guard> = Symbol('guard')

/**
 * byTouch reports whether a decision is made by touch: by the pointer that pressed, or else by the
 * kind of this device.
 */
export const byTouch = (pointerType?: string): boolean => (pointerType ? pointerType !== 'mouse' : touch.value)
