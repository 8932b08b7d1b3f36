// esbuild gathers these into one style sheet.
declare module "*.css";
