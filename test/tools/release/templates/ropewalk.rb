# Copyright 2026 The Ropewalk Authors
# SPDX-License-Identifier: Apache-2.0
class Ropewalk < Formula
  desc "Compiles typed configuration into manifests for Argo CD and Flux"
  homepage "{{.Repository}}"
  version "{{slice .Version 1}}"
  license "Apache-2.0"
{{range .Systems}}
  on_{{.Name}} do
{{- range .Archives}}
    on_{{.CPU}} do
      url "{{$.Repository}}/releases/download/{{$.Version}}/{{.File}}"
      sha256 "{{.Sum}}"
    end
{{- end}}
  end
{{end}}
  def install
    bin.install "ropewalk", "ropewalk-components"
    bash_completion.install "completions/ropewalk.bash" => "ropewalk"
    zsh_completion.install "completions/_ropewalk"
    fish_completion.install "completions/ropewalk.fish"
  end

  test do
    assert_match "v#{version}", shell_output("#{bin}/ropewalk version")
  end
end
