// Writes the files of a release that follow from the others: the Homebrew formula, the entry for the
// MCP registry, and the provenance, an in-toto statement with the SLSA predicate. Their signature is
// that of SHA256SUMS, which lists them.
//
//   node release-files.mjs DIR VERSION COMMIT
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const [dir, version, commit] = process.argv.slice(2)
const repository = 'https://github.com/sayso-dev/sayso'
const sum = (name) => createHash('sha256').update(readFileSync(join(dir, name))).digest('hex')
const write = (name, text) => writeFileSync(join(dir, name), text)
const json = (value) => `${JSON.stringify(value, null, 2)}\n`

const archives = readdirSync(dir).filter((name) => name.endsWith('.tar.gz'))
const platforms = ['macos arm', 'macos intel', 'linux arm', 'linux intel']
const blocks = platforms.flatMap((platform) => {
  const [os, cpu] = platform.split(' ')
  const suffix = `-${os === 'macos' ? 'darwin' : os}-${cpu === 'arm' ? 'arm64' : 'amd64'}.tar.gz`
  const archive = archives.find((name) => name.endsWith(suffix))
  if (!archive) return []
  return `  on_${os} do
    on_${cpu} do
      url "${repository}/releases/download/v${version}/${archive}"
      sha256 "${sum(archive)}"
    end
  end
`
})
write(
  'sayso.rb',
  `class Sayso < Formula
  desc "Approve what Claude Code does from any browser"
  homepage "${repository}"
  version "${version}"
  license "Apache-2.0"

${blocks.join('\n')}
  def install
    bin.install "sayso"
    man1.install Dir["man/*.1"]
    bash_completion.install "completion/sayso.bash" => "sayso"
    zsh_completion.install "completion/_sayso"
    fish_completion.install "completion/sayso.fish"
  end

  service do
    run [opt_bin/"sayso", "serve"]
    keep_alive crashed: true
    log_path var/"log/sayso.log"
    error_log_path var/"log/sayso.log"
  end

  test do
    assert_match "sayso ${version}", shell_output("#{bin}/sayso version")
  end
end
`,
)

write(
  'server.json',
  json({
    $schema: 'https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json',
    name: 'io.github.sayso-dev/sayso',
    title: 'sayso',
    description: 'Ask the people of a sayso server for approvals and answers',
    version,
    repository: { url: repository, source: 'github' },
    websiteUrl: repository,
    remotes: [
      {
        type: 'streamable-http',
        url: 'https://{host}/mcp',
        variables: { host: { description: 'Host of your sayso server', isRequired: true, placeholder: 'sayso.example.org' } },
        headers: [
          {
            name: 'Authorization',
            description: 'Token of sayso token --agent, after the word Bearer',
            value: 'Bearer {token}',
            variables: { token: { description: 'Token of an agent', isRequired: true, isSecret: true } },
            isRequired: true,
            isSecret: true,
          },
        ],
      },
    ],
  }),
)

const subjects = readdirSync(dir)
  .filter((name) => !name.startsWith('SHA256SUMS') && name !== 'sayso.intoto.json')
  .sort()
const run = (command, ...words) => execFileSync(command, words, { encoding: 'utf8' }).trim()
write(
  'sayso.intoto.json',
  json({
    _type: 'https://in-toto.io/Statement/v1',
    subject: subjects.map((name) => ({ name, digest: { sha256: sum(name) } })),
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: `${repository}/blob/v${version}/scripts/release`,
        externalParameters: { version: `v${version}` },
        internalParameters: { go: run('go', 'env', 'GOVERSION'), node: process.version },
        resolvedDependencies: [{ uri: `git+${repository}@refs/tags/v${version}`, digest: { gitCommit: commit } }],
      },
      runDetails: { builder: { id: `${repository}/blob/v${version}/scripts/release` } },
    },
  }),
)
