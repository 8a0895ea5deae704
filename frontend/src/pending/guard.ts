import type { InjectionKey } from 'vue'
import { touch } from '@/ui/narrow'
import type { Act, Facts, How, Obstacle } from './decide'

/** What the frame of a card, or a batch, knows of its request: decide.ts asked with it. */
export interface Guard {
  request(): string
  obstacle(act: Act, more?: Partial<Facts>, how?: How): Obstacle | null
}

export const guardKey: InjectionKey<Guard> = Symbol('guard')

/** Whether a decision is given by touch: by the pointer that pressed, else by what this machine has. */
export const byTouch = (pointerType?: string): boolean => (pointerType ? pointerType !== 'mouse' : touch.value)
