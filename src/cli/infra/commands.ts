import type { Command } from "commander";
import { collectValues } from "#cli/flags.ts";

/** Adds `infra`, which prints configuration for API servers and accounts. */
export function addInfraCommands(program: Command): void {
  const infra = program
    .command("infra")
    .summary("print configuration for API servers")
    .description("Prints the configuration that API servers and accounts need for these clusters.");

  addAuthenticationConfigCommand(infra.command("authentication-config"));
  addAdmissionUrlCommand(infra.command("admission-url"));
  addAuditWebhookCommand(infra.command("audit-webhook"));
}

function addAuthenticationConfigCommand(command: Command): void {
  command
    .summary("the file with which an API server accepts tokens of IAM roles")
    .description(
      "Prints an AuthenticationConfiguration for kube-apiserver: IAM roles sign in as our users, by tokens of sts:GetWebIdentityToken.\nAlso translates --oidc-* flags, which kube-apiserver rejects together with the file.",
    )
    .option(
      "--issuer <[account=]url>",
      "the AWS account's issuer of tokens; once for each account",
      collectValues,
    )
    .option("--role <name=arn>", "the IAM role of an identity: relay, node, …; once for each", collectValues)
    .option("--roles-from <file>", "the functions' roles, as printed by CloudFormation or Terraform")
    .option("--cluster-name <name>", "the cluster's name; tokens are then for serverless-ccm:<name>")
    .option(
      "--audience <text>",
      "another audience of tokens, or the only one without --cluster-name",
      collectValues,
    )
    .option("--max-token-lifetime <duration>", "reject tokens that are valid for longer (default: 1h)")
    .option(
      "--discovery-url <[account=]url>",
      "the server to ask if the API server cannot reach the issuer",
      collectValues,
    )
    .option(
      "--certificate-authority <[account=]file>",
      "the authority of that server, if it is not a public one",
      collectValues,
    )
    .option("--egress-selector <type>", "the network to use: controlplane, cluster")
    .option("--merge <file>", "an existing file to merge with")
    .option("--server-version <version>", "of the API server, such as 1.36")
    .option("--kubeconfig <file>", "asks the API server for its version (default: $KUBECONFIG)")
    .action(async (flags) => {
      const { printAuthenticationConfig } = await import("#cli/infra/authentication-config.ts");
      const note = (line: string): void => void process.stderr.write(`serverless-ccm: ${line}\n`);
      await printAuthenticationConfig(flags, process.env, (text) => process.stdout.write(text), note);
    });
  addOidcFlags(command);
}

/** Adds the flags of kube-apiserver that become an entry of the file. */
function addOidcFlags(command: Command): void {
  command
    .option("--oidc-issuer-url <url>", "of kube-apiserver, as all of these: they become an entry of the file")
    .option("--oidc-client-id <id>", "the issuer's only audience")
    .option("--oidc-username-claim <claim>", "the claim with the user's name (default: sub)")
    .option(
      "--oidc-username-prefix <prefix>",
      "before the name; - for none (default: URL#, except for email)",
    )
    .option("--oidc-groups-claim <claim>", "the claim with the groups")
    .option("--oidc-groups-prefix <prefix>", "before each of them")
    .option(
      "--oidc-required-claim <claim=value>",
      "the required value of a claim; once for each",
      collectValues,
    )
    .option("--oidc-signing-algs <list>", "has no equivalent in a file; a comment says so", collectValues)
    .option("--oidc-ca-file <file>", "by which the issuer's server is trusted");
}

function addAdmissionUrlCommand(command: Command): void {
  command
    .summary("the URL at which an API server calls the function admission")
    .description(
      "Prints for each cluster the URL of its ValidatingWebhookConfiguration, signed for this cluster only.\nThe function answers no other URL.",
    )
    .option("--signing-key <file>", "the operator's private key, in PEM; kept where no function reads it")
    .option("--public-key", "print the public key for the function's deployment", false)
    .option("--function-url <url>", "of the deployed function")
    .option("--cluster-name <name>", "as in the clusters' entries; once for each", collectValues)
    .action(async (flags) => {
      const { printAdmissionUrls } = await import("#cli/infra/admission-url.ts");
      await printAdmissionUrls(flags, (text) => process.stdout.write(text));
    });
}

function addAuditWebhookCommand(command: Command): void {
  command
    .summary("the files and flags with which an API server reports to the function audit")
    .description(
      "Prints the audit policy, the webhook's kubeconfig with a token for this cluster only, and the flags of kube-apiserver.\nThe function accepts no other token.",
    )
    .option("--signing-key <file>", "the operator's private key, in PEM; kept where no function reads it")
    .option("--public-key", "print the public key for the function's deployment", false)
    .option("--function-url <url>", "of the deployed function")
    .option("--cluster-name <name>", "as in the cluster's entry")
    .option("--controllers <list>", "those of the cluster's entry, as in run --controllers", "*")
    .option("--certificate-authority <file>", "the authority of the URL, if it is not a public one")
    .option("--folder <folder>", "write both files there, and print the flags alone")
    .action(async (flags) => {
      const { printAuditWebhook } = await import("#cli/infra/audit-webhook.ts");
      await printAuditWebhook(flags, (text) => process.stdout.write(text));
    });
}
