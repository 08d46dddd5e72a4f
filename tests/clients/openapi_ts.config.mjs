export default {
  input: "openapi.json",
  output: "client",
  plugins: ["@hey-api/client-fetch", "@hey-api/typescript", "zod", { name: "@hey-api/sdk", validator: true }],
};
