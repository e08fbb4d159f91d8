"""What every other package needs: errors, classes, files, foreign tables, parallel work, the grid."""
