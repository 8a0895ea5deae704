import { useMediaQuery } from '@vueuse/core'
import { BREAKPOINTS } from './breakpoints'

/** Whether the screen is as narrow as a phone's. */
export const narrow = useMediaQuery(BREAKPOINTS.narrow)

/** Whether the window is so low that a card keeps only its title, what is decided and its buttons in view. */
export const short = useMediaQuery(BREAKPOINTS.short)

/** Whether fingers are the main way to point; a field that takes the focus brings up the keyboard then. */
export const touch = useMediaQuery('(pointer: coarse)')

/** Whether there is room for a list or for what is chosen in it, not for both beside the rail. */
export const single = useMediaQuery(BREAKPOINTS.single)
