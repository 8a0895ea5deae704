// Only what oxlint cannot see: accessibility inside Vue templates.
import a11y from 'eslint-plugin-vuejs-accessibility'
import ts from 'typescript-eslint'
import vueParser from 'vue-eslint-parser'

export default [
  {
    files: ['src/**/*.vue'],
    languageOptions: { parser: vueParser, parserOptions: { parser: ts.parser, sourceType: 'module' } },
    plugins: { 'vuejs-accessibility': a11y },
    rules: {
      ...a11y.configs['flat/recommended'].at(-1).rules,
      // Lists and cards listen to keys of the controls in them; what is clickable
      // without being a control is found by click-events-have-key-events.
      'vuejs-accessibility/no-static-element-interactions': 'off',
      'vuejs-accessibility/label-has-for': ['error', { required: { some: ['nesting', 'id'] } }],
    },
  },
]
