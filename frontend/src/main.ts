import { createPinia } from 'pinia'
import { createApp } from 'vue'
import App from './App.vue'
import { drafts } from './pending/drafts'
import { router } from './router'
import './ui/theme'
import './ui/tokens.css'

drafts.prune()
createApp(App).use(createPinia()).use(router).mount('#app')
