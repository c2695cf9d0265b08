"""Names of technologies that projects are built on, the same in every language, by field."""

from collections.abc import Mapping

_NAMES: Mapping[str, str] = {
    "database": "postgres postgresql mysql mariadb sqlite mongodb mongo cockroachdb dynamodb oracle mssql "
    "cassandra duckdb firestore neo4j supabase database base sgbd",
    "cache": "redis memcached valkey cache",
    "web framework": "fastapi flask django starlette express nestjs rails laravel symfony spring actix axum "
    "gin fiber litestar",
    "frontend": "react vue svelte angular solidjs nextjs next.js nuxt htmx remix",
    "styling": "tailwind bootstrap sass scss bulma css",
    "package manager": "npm pnpm yarn bun pip poetry uv pipenv conda pdm cargo",
    "test framework": "pytest unittest nose jest vitest mocha jasmine playwright cypress selenium phpunit",
    "linter": "eslint biome ruff flake8 pylint prettier black",
    "queue": "rabbitmq kafka celery sqs nats sidekiq rq pulsar",
    "hosting": "aws gcp azure heroku vercel netlify fly.io render ovh scaleway hetzner kubernetes k8s nomad",
    "ci": "jenkins circleci travis github-actions gitlab-ci buildkite",
    "api style": "rest graphql grpc trpc soap",
    "authentication": "jwt oauth oauth2 sessions cookies saml keycloak auth0",
    "orm": "sqlalchemy prisma typeorm sequelize peewee drizzle hibernate doctrine",
    "bundler": "webpack vite rollup parcel esbuild",
    "date library": "moment dayjs luxon date-fns",
    "utility library": "lodash ramda jquery",
    "state management": "redux mobx zustand vuex pinia",
    "http client": "axios requests httpx aiohttp fetch",
    "programming language": "python javascript typescript java kotlin scala clojure haskell ocaml "
    "erlang elixir ruby php perl golang fortran cobol pascal c++ c#",
    "serialisation": "json yaml toml protobuf msgpack avro",
}
FIELDS: Mapping[str, str] = {name: field for field, names in _NAMES.items() for name in names.split()}
"""The field by name, so that "MySQL" and "PostgreSQL" are recognised as rivals."""
_PLAIN = frozenset(
    {
        *("database", "base", "cache", "css", "fetch", "cookies"),
        *("sessions", "rest", "requests", "json", "yaml", "toml"),
    }
)
KNOWN_NAMES = frozenset(FIELDS) - _PLAIN
"""Names of technologies; without plain words, and without those used in any file."""

_TOOLS = """
airflow alembic android ansible arduino argocd aspnet autotools bazel bitbucket black capistrano ceph
clang clang-format clang-tidy cmake codecov cppcheck csv cucumber cuda curl cython dagster dask datadog dbt
debian deno detekt devcontainer docker doppler doxygen dplyr dvc elasticsearch electron emacs esp-idf esp32
excel fastlane ffmpeg figma firebase flutter flyway freertos gatsby gcc gdb gerrit gettext ggplot ggplot2
github gitlab gnuplot godot goreleaser gpg gradle grafana graphviz guice hadoop haproxy helm homebrew httpie
hugo influxdb ipynb istio jekyll jira joblib junit jupyter keras ktlint kubectl kubernetes kustomize lapack
latex latexmk launchdarkly lerna libcurl liquibase llvm lombok lua makefile mapbox markdown matlab
matplotlib maven mermaid metabase mkdocs mlflow mockito mqtt mypy nextflow nginx nixos nuget numpy openai
openapi opencv openmp openocd opentelemetry pandas pandoc pdf phpstan pipenv platformio plotly png podman
polars powershell pre-commit prometheus protoc psql pulumi pydantic pylint pyright pytorch qemu rabbitmq
redux renderdoc rollup rspec rstudio rubocop ruff rustc rustfmt rxjs saltstack scipy scons seaborn
sentry sharepoint shellcheck shopify snakemake sonarqube spack sphinx storybook strapi svg swagger systemd
tensorflow terraform terragrunt testcontainers tidyverse tikz tmux tox traefik trivy typst ubuntu vagrant
vim vscode wandb webdriver winget wireshark wordpress xcode xlsx xunit yocto zephyr zig zsh zustand
"""
TOOLS = frozenset(_TOOLS.split())
"""Names of other tools, libraries and systems: without a rival here, and not plain words in a sentence."""
